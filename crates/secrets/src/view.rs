//! A text as it would read without something, with the way back to the original.

use crate::hit::{ceil, floor};
use std::ops::Range;

/// A piece of the original that reads differently in a view: `span` becomes `with`, often nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seam {
    pub(crate) span: Range<usize>,
    pub(crate) with: Option<char>,
    /// The end of a line of which nobody said that it goes on: a guess.
    pub(crate) guess: bool,
}

/// A region of a text with its seams applied.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) text: String,
    /// Start in the view, start and end in the original, ascending. Pieces that were copied are as long in both.
    pieces: Vec<(usize, Range<usize>)>,
    /// Where guesses are in the view.
    guesses: Vec<usize>,
}

/// How far around a seam a finding may reach.
const REACH: usize = 192;

/// One view for each cluster of seams; `seams` ascending and not overlapping.
pub(crate) fn views(text: &str, seams: &[Seam]) -> Vec<View> {
    let mut views = Vec::new();
    let mut first = 0;
    for at in 1..=seams.len() {
        let apart = seams.get(at).is_none_or(|next| next.span.start > seams[at - 1].span.end + 2 * REACH);
        if apart {
            views.push(View::new(text, &seams[first..at]));
            first = at;
        }
    }
    views
}

impl View {
    fn new(text: &str, seams: &[Seam]) -> Self {
        let start = seams.first().map_or(0, |seam| floor(text, seam.span.start.saturating_sub(REACH)));
        let end = seams.last().map_or(0, |seam| ceil(text, seam.span.end + REACH));
        let mut view = Self { text: String::with_capacity(end - start), pieces: Vec::new(), guesses: Vec::new() };
        let mut at = start;
        for seam in seams {
            if seam.span.start > at {
                view.pieces.push((view.text.len(), at..seam.span.start));
                view.text.push_str(&text[at..seam.span.start]);
            }
            if let Some(with) = seam.with {
                view.pieces.push((view.text.len(), seam.span.clone()));
                view.text.push(with);
            }
            if seam.guess {
                view.guesses.push(view.text.len());
            }
            at = seam.span.end;
        }
        view.pieces.push((view.text.len(), at..end));
        view.text.push_str(&text[at..end]);
        view
    }

    /// Where a span of the view is in the original, with everything that was taken out between.
    pub(crate) fn original(&self, span: Range<usize>) -> Range<usize> {
        let start = self.piece(span.start);
        let start = if self.is_copy(start) {
            self.pieces[start].1.start + span.start - self.pieces[start].0
        } else {
            self.pieces[start].1.start
        };
        let last = self.piece(span.end.saturating_sub(1).max(span.start));
        let (from, whole) = &self.pieces[last];
        let end = if self.is_copy(last) { whole.start + span.end - from } else { whole.end };
        start..end.max(start)
    }

    fn piece(&self, at: usize) -> usize {
        self.pieces.partition_point(|(start, _)| *start <= at).saturating_sub(1)
    }

    fn is_copy(&self, piece: usize) -> bool {
        let (start, whole) = &self.pieces[piece];
        let end = self.pieces.get(piece + 1).map_or(self.text.len(), |(next, _)| *next);
        end - start == whole.len()
    }

    /// The guesses strictly inside a span.
    pub(crate) fn guesses(&self, span: &Range<usize>) -> impl Iterator<Item = usize> {
        let from = self.guesses.partition_point(|at| *at <= span.start);
        let end = span.end;
        self.guesses[from..].iter().copied().take_while(move |at| *at < end)
    }
}
