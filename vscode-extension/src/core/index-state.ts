/** Summarize the state of the index. */

import { formatNumber } from './numbers'
import type { FolderStatus, IndexedFiles, IndexStatusResult } from './protocol'
import { forPeople } from './wording'

export interface IndexSummary {
  readonly icon: string
  readonly text: string
  readonly lines: readonly string[]
  readonly isBuilding: boolean
  readonly isPaused: boolean
}

/** Return the icon, text and tooltip lines for the index of all folders. */
export function summaryOf(index: IndexStatusResult['index']): IndexSummary {
  const states = index.folders.map((folder) => folder.state)
  const isPaused = index.paused ?? states.includes('paused')
  const isBuilding = states.some((state) => state === 'building' || state === 'stale')
  const lines = index.folders.map(folderLine)
  if (index.waits_for) lines.push(`Waiting: ${index.waits_for}`)
  if (index.memory_mb) lines.push(`${Math.round(index.memory_mb)} MB of memory`)
  const [icon, state] = isPaused
    ? ['debug-pause', 'indexing paused']
    : isBuilding
      ? ['sync~spin', states.includes('building') ? `indexing ${percentOf(index.folders)} %` : 'updating']
      : settled(index.folders)
  return { icon, text: `Winnow: ${state}`, lines, isBuilding, isPaused }
}

/**
 * Return how much of the files is indexed, in percent: 50 as soon as all texts are, and more with
 * their definitions. An index that is being built is never complete.
 */
export function percentOf(folders: readonly IndexedFiles[]): number {
  const done = sum(folders, (folder) => folder.files_indexed + textsOf(folder))
  const all = 2 * sum(folders, (folder) => folder.files_total)
  return all ? Math.min(99, Math.floor((100 * done) / all)) : 0
}

/** Return the icon and the state of an index that isn't changing. */
function settled(folders: readonly FolderStatus[]): [icon: string, state: string] {
  // Of an index without files, the problem is only why it has none: the tooltip shows it.
  if (folders.some(({ problem, files_total: all }) => problem && all)) return ['warning', 'index problem']
  if (folders.every(({ state }) => state === 'none')) return ['search', 'no index']
  return folders.some((folder) => folder.files_total) ? ['search', 'ready'] : ['info', 'no files']
}

function folderLine(folder: FolderStatus): string {
  const { files_indexed: done, files_total: all } = folder
  const problem = folder.problem ? `: ${forPeople(folder.problem)}` : ''
  const texts = textsOf(folder) > done ? `the texts of ${formatNumber(textsOf(folder))} and the definitions of ` : ''
  const files = all ? `${texts}${formatNumber(done)} of ${formatNumber(all)} files` : 'no files'
  return `Index of ${folder.folder}: ${folder.state}, ${files}${problem}`
}

function textsOf({ files_indexed: done, texts_indexed: texts }: IndexedFiles): number {
  return Math.max(done, texts ?? 0)
}

function sum(folders: readonly IndexedFiles[], count: (folder: IndexedFiles) => number): number {
  return folders.reduce((total, folder) => total + count(folder), 0)
}
