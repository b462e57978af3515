/** Find the words of a query in a line of code, to highlight them. */

import { parseQuery } from './query'

/** Shorter words, such as `is`, occur in many others. */
const LEAST = 3
/** Longer words that say nothing about the code, unless they are searched as exact text or alone. */
const COMMON = new Set(
  ('and are but can did does for from has have how into its other others the their them then there they this that was ' +
    'what when where which who whose why will with you').split(' '),
)
/** Endings that code often lacks: `hashed` stands for `hash`, too. */
const ENDINGS = [/ing$/, /ed$/, /es$/, /s$/]

/** Return where the words of a query begin and end in a text, in UTF-16 units. */
export function highlightsOf(query: string, text: string): [number, number][] {
  const { kind, words, terms } = parseQuery(query)
  const typed = [words, ...terms]
    .flatMap((text) => text.match(/[\p{L}\p{N}]+/gu) ?? [])
    .map((word) => word.toLowerCase())
    .filter((word) => word.length >= LEAST)
  const telling = kind === 'text' ? typed : typed.filter((word) => !COMMON.has(word))
  const found = (telling.length ? telling : typed)
    .flatMap((word) => formsOf(word).flatMap((form) => occurrences(text, form)))
    .sort(([left], [right]) => left - right)
  return merged(found)
}

function formsOf(word: string): string[] {
  const forms = [word, ...ENDINGS.map((ending) => word.replace(ending, ''))]
  return [...new Set(forms)].filter((form) => form.length >= LEAST)
}

/** Return where a word occurs at the beginning of a word or of a part of an identifier. */
function occurrences(text: string, word: string): [number, number][] {
  const lower = text.toLowerCase()
  const found: [number, number][] = []
  for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1)) {
    const end = at + word.length
    // `documents` is not in `DocumentSource`, but `document` is.
    const endsInNextPart = /\p{Ll}\p{Lu}$/u.test(text.slice(at, end)) && /^\p{Ll}/u.test(text.slice(end))
    if (beginsPart(text, at) && !endsInNextPart) found.push([at, end])
  }
  return found
}

function beginsPart(text: string, at: number): boolean {
  // The character before, and what follows: `|word`, `my|Word`, `HTTP|Request`.
  return at === 0 || /^(?:\P{L}|\p{Ll}(?=\p{Lu})|\p{Lu}(?=\p{Lu}\p{Ll}))/u.test(text.slice(at - 1, at + 2))
}

function merged(ranges: readonly [number, number][]): [number, number][] {
  const result: [number, number][] = []
  for (const [start, end] of ranges) {
    const last = result.at(-1)
    if (last && start <= last[1]) last[1] = Math.max(last[1], end)
    else result.push([start, end])
  }
  return result
}
