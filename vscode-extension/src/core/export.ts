/** A search as text, to paste or to keep. */

import type { Row } from './rows'

/** `path:line`, as compilers and terminals write places. */
export function placeText(row: Row): string {
  return row.place.line === undefined ? row.shown : `${row.shown}:${row.place.line}`
}

/** A search as Markdown: what was asked, who ranked, and each result with its reason. */
export function asMarkdown(
  title: string,
  notes: readonly string[],
  rows: readonly Row[],
): string {
  const items = rows.flatMap((row) => {
    const about = row.detail || row.label.replace(/\$\([\w~-]+\) ?/g, '')
    return [`- \`${placeText(row)}\` ${about}`, ...row.lines.map((line) => `  - ${line.place.line}: \`${line.text.replaceAll('`', "'")}\``)]
  })
  return [`# ${title}`, '', ...notes.map((note) => `> ${note}`), '', ...items, ''].join('\n')
}
