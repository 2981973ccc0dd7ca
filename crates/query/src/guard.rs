//! The read-only guard. Twice: on what was written, for an error in the writer's words, and on the plan, which decides.

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::dialect::GenericDialect;

use crate::{Error, Result};

/// The one statement of a text; a semicolon at its end is no second one.
pub(crate) fn one_statement(sql: &str) -> Result<Statement> {
    let mut statements = DFParser::parse_sql_with_dialect(sql, &GenericDialect {}).map_err(Error::plan)?;
    match (statements.len(), statements.pop_front()) {
        (1, Some(statement)) => Ok(statement),
        (n, _) => Err(Error::Statements(n)),
    }
}

/// Lets queries, EXPLAIN of them, SHOW and DESCRIBE through.
pub(crate) fn check_statement(statement: &Statement) -> Result<()> {
    let asks = match statement {
        Statement::Explain(explain) => return check_statement(&explain.statement),
        Statement::Statement(inner) => check_sql(inner),
        Statement::CreateExternalTable(_) => Err("CREATE EXTERNAL TABLE is refused".to_owned()),
        Statement::CopyTo(_) => Err("COPY is refused".to_owned()),
        Statement::Reset(_) => Err("RESET is refused".to_owned()),
    };
    asks.map_err(|what| Error::Refused { what })
}

fn check_sql(statement: &ast::Statement) -> std::result::Result<(), String> {
    match statement {
        ast::Statement::Query(query) => check_body(&query.body),
        ast::Statement::Explain { statement, .. } => check_sql(statement),
        ast::Statement::ExplainTable { .. }
        | ast::Statement::ShowTables { .. }
        | ast::Statement::ShowColumns { .. }
        | ast::Statement::ShowFunctions { .. }
        | ast::Statement::ShowVariable { .. } => Ok(()),
        other => Err(format!("{} is refused", verb(&other.to_string()))),
    }
}

/// A query's body may itself be an INSERT, an UPDATE or a DELETE.
fn check_body(body: &ast::SetExpr) -> std::result::Result<(), String> {
    match body {
        ast::SetExpr::Select(select) if select.into.is_some() => Err("SELECT INTO is refused".to_owned()),
        ast::SetExpr::Select(_) | ast::SetExpr::Values(_) | ast::SetExpr::Table(_) => Ok(()),
        ast::SetExpr::Query(query) => check_body(&query.body),
        ast::SetExpr::SetOperation { left, right, .. } => check_body(left).and_then(|()| check_body(right)),
        other => Err(format!("{} is refused", verb(&other.to_string()))),
    }
}

fn verb(text: &str) -> String {
    text.split_whitespace().next().unwrap_or("this").to_uppercase()
}

/// No node of the plan, nor of a subquery in it, changes anything or leaves the session.
pub(crate) fn check_plan(plan: &LogicalPlan) -> Result<()> {
    let mut what = None;
    plan.apply_with_subqueries(|node| {
        what = match node {
            LogicalPlan::Ddl(ddl) => Some(format!("{} is refused", ddl.name())),
            LogicalPlan::Dml(dml) => Some(format!("{} is refused", dml.op)),
            LogicalPlan::Copy(_) => Some("COPY is refused".to_owned()),
            LogicalPlan::Statement(statement) => Some(format!("{} is refused", statement.name())),
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        Ok(TreeNodeRecursion::Stop)
    })
    .map_err(Error::plan)?;
    what.map_or(Ok(()), |what| Err(Error::Refused { what }))
}
