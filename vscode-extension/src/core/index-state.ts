/** Summarize the state of the index. */

import { formatNumber } from './numbers'
import type { FolderStatus, IndexStatusResult } from './protocol'

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
  const done = sum(index.folders, (folder) => folder.files_indexed)
  const all = sum(index.folders, (folder) => folder.files_total)
  const lines = index.folders.map(folderLine)
  if (index.waits_for) lines.push(`Waiting: ${index.waits_for}`)
  if (index.memory_mb) lines.push(`${Math.round(index.memory_mb)} MB of memory`)
  const problem = index.folders.find((folder) => folder.problem)?.problem
  const percent = all ? Math.floor((100 * done) / all) : 0
  const [icon, state] = isPaused
    ? ['debug-pause', 'indexing paused']
    : isBuilding
      ? ['sync~spin', `indexing ${percent} %`]
      : problem
        ? ['warning', 'index problem']
        : ['search', states.some((state) => state !== 'none') ? 'ready' : 'no index']
  const text = `Winnow: ${state}`
  return { icon, text, lines, isBuilding, isPaused }
}

function folderLine(folder: FolderStatus): string {
  const { files_indexed: done, files_total: all } = folder
  const problem = folder.problem ? `: ${folder.problem}` : ''
  return `Index of ${folder.folder}: ${folder.state}, ${formatNumber(done)} of ${formatNumber(all)} files${problem}`
}

function sum(folders: readonly FolderStatus[], count: (folder: FolderStatus) => number): number {
  return folders.reduce((total, folder) => total + count(folder), 0)
}
