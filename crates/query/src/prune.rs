//! An optimiser rule: a left join whose right side has at most one row a key, and none of whose columns is used, is
//! its left side.
//!
//! `sessions` joins checks and retractions, and the latter read the events. A question that asks for neither then
//! reads segments only.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Aggregate, Expr, Join, JoinType, LogicalPlan, Projection};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The rule. It stands after the projections were narrowed, so that what is used is what the node above names.
#[derive(Debug)]
pub(crate) struct UnusedLeftJoin;

impl OptimizerRule for UnusedLeftJoin {
    fn name(&self) -> &str {
        "unused_left_join"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let (used, input) = match &plan {
            LogicalPlan::Projection(projection) => (columns(&projection.expr), &projection.input),
            LogicalPlan::Aggregate(aggregate) => {
                let mut used = columns(&aggregate.group_expr);
                used.extend(columns(&aggregate.aggr_expr));
                (used, &aggregate.input)
            }
            _ => return Ok(Transformed::no(plan)),
        };
        // A subquery that is still one may name columns that no expression here does.
        if plan.expressions().iter().any(has_subquery) {
            return Ok(Transformed::no(plan));
        }
        let Some(left) = without_unused(input, &used) else { return Ok(Transformed::no(plan)) };
        match plan {
            LogicalPlan::Projection(projection) => {
                Projection::try_new(projection.expr, left).map(LogicalPlan::Projection)
            }
            LogicalPlan::Aggregate(aggregate) => {
                Aggregate::try_new(left, aggregate.group_expr, aggregate.aggr_expr).map(LogicalPlan::Aggregate)
            }
            other => Ok(other),
        }
        .map(Transformed::yes)
    }
}

fn columns(exprs: &[Expr]) -> Vec<Column> {
    exprs.iter().flat_map(|expr| expr.column_refs().into_iter().cloned()).collect()
}

fn has_subquery(expr: &Expr) -> bool {
    let is_one = |e: &Expr| {
        matches!(e, Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_))
    };
    // An expression that cannot be walked is taken for one that holds a subquery.
    expr.exists(|e| Ok(is_one(e))).unwrap_or(true)
}

fn without_unused(plan: &LogicalPlan, used: &[Column]) -> Option<Arc<LogicalPlan>> {
    let LogicalPlan::Join(join) = plan else { return None };
    if join.join_type != JoinType::Left || used.iter().any(|column| join.right.schema().has_column(column)) {
        return None;
    }
    unique_by(&join.right, &right_keys(join)?).then(|| Arc::clone(&join.left))
}

fn right_keys(join: &Join) -> Option<Vec<Column>> {
    join.on.iter().map(|(_, right)| right.try_as_col().cloned()).collect()
}

/// Whether no two rows agree on these columns: they hold all that the rows below were grouped by.
fn unique_by(plan: &LogicalPlan, keys: &[Column]) -> bool {
    match plan {
        // Grouping sets give several rows a key.
        LogicalPlan::Aggregate(a) if a.group_expr.iter().any(|e| matches!(e, Expr::GroupingSet(_))) => false,
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.iter().enumerate().all(|(i, _)| {
            let (qualifier, field) = aggregate.schema.qualified_field(i);
            keys.contains(&Column::new(qualifier.cloned(), field.name()))
        }),
        LogicalPlan::SubqueryAlias(alias) => unique_by(&alias.input, &below(plan, &alias.input, keys)),
        LogicalPlan::Projection(projection) => {
            let inner: Vec<Column> = keys
                .iter()
                .filter_map(|key| projection.schema.maybe_index_of_column(key))
                .filter_map(|i| projection.expr[i].clone().unalias().try_as_col().cloned())
                .collect();
            unique_by(&projection.input, &inner)
        }
        LogicalPlan::Filter(filter) => unique_by(&filter.input, keys),
        _ => false,
    }
}

/// The columns of an alias's input that stand where these stand in the alias.
fn below(alias: &LogicalPlan, input: &LogicalPlan, keys: &[Column]) -> Vec<Column> {
    keys.iter()
        .filter_map(|key| alias.schema().maybe_index_of_column(key))
        .map(|i| {
            let (qualifier, field) = input.schema().qualified_field(i);
            Column::new(qualifier.cloned(), field.name())
        })
        .collect()
}
