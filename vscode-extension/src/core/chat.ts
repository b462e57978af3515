/** Format rows as Markdown for a chat. Texts from files must not act as Markdown. */

import { splitPath } from './places'
import type { Row } from './rows'

/** Return a text as inline code, whatever backticks it contains. */
export function inlineCode(text: string): string {
  const runs = text.match(/`+/g) ?? []
  const fence = '`'.repeat(Math.max(0, ...runs.map((run) => run.length)) + 1)
  const space = text.startsWith('`') || text.endsWith('`') ? ' ' : ''
  return `${fence}${space}${text}${space}${fence}`
}

/** Return a text in which no character has a meaning in Markdown. */
export function plainText(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!<>|~$&:/@]/g, '\\$&')
}

/** Return what follows the link of a numbered item: where it is, its line of code, and the reason. */
export function afterLink(row: Row): string {
  const { code, reason } = row
  const lines = [plainText(around(row)), code && inlineCode(code), plainText(reason)].filter(Boolean)
  // Two spaces before a line break keep it; three after it keep the text in the item.
  return ` ${lines.join('  \n   ')}\n`
}

/** Return the folder and the symbol. The editor shows the file and the line in the link itself. */
function around({ name, where, path, displayPath }: Row): string {
  const file = splitPath({ path, shown: displayPath })
  return name.startsWith(file.name) ? where : [file.folder, name].filter(Boolean).join('  ')
}

/** Return how many results are listed, given the number of rows and the count as text. */
export function shownOf(count: string, rows: number, listed: number): string {
  return rows > listed ? `The first ${listed} of ${count.replace(/^[\d,]+ of /, '')}` : count
}
