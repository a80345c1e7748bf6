// Package reply reads a language model's text answer. It is strict about the JSON object and lenient
// about the text around it:
//
//   - It skips reasoning blocks (<think> and the like, nested, unclosed, or with the opening tag missing),
//     fences, prose and byte order marks around the JSON object. JSON inside reasoning is a draft, never an
//     answer.
//   - Every part is checked separately: a fact of the wrong shape is dropped with a warning and the
//     next is read. If an answer was cut off, its complete elements are kept.
//   - JSON is not repaired: no single quotes, comments, unquoted keys or numbers written as strings.
//     Unknown fields are ignored. An object with a duplicate field is dropped.
//   - A decision is read completely or not at all. An answer that is unreadable or ambiguous, or names something
//     that was not offered, becomes schema.ActionNone with a warning. So an answer can only propose one of four
//     actions on one of the offered targets.
//
// intake.CheckExtraction and intake.CheckProposal check the meaning of every result. Warnings name fields and never
// quote the answer, which is memory content. In warnings that begin with "answer", positions count all elements of
// the answer; in the others, they count only the readable ones. Time and memory are linear in the answer, which is cut
// at MaxLength. No input makes the package panic.
package reply
