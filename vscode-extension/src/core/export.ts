/** Export a search as text. */

import { type Row, secondLine } from './rows'

/** Return `path:line`, the format of compilers and terminals. */
export function placeText(row: Row): string {
  return row.place.line === undefined ? row.displayPath : `${row.displayPath}:${row.place.line}`
}

/** Return a search as Markdown: its title, notes such as the ranker, and each result with its reason. */
export function asMarkdown(
  title: string,
  notes: readonly string[],
  rows: readonly Row[],
): string {
  const items = rows.flatMap((row) => {
    return [`- \`${placeText(row)}\` ${secondLine(row)}`, ...row.lines.map((line) => `  - ${line.place.line}: \`${line.text.replaceAll('`', "'")}\``)]
  })
  return [`# ${title}`, '', ...notes.map((note) => `> ${note}`), '', ...items, ''].join('\n')
}
