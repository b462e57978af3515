/** The state of the index in a few words. */

import { counted } from './numbers'
import type { FolderStatus, IndexStatusResult } from './protocol'

export interface IndexSummary {
  readonly icon: string
  readonly text: string
  readonly lines: readonly string[]
  readonly isBuilding: boolean
  readonly isPaused: boolean
}

/** What a status bar says of the index of all folders. */
export function summaryOf(index: IndexStatusResult['index']): IndexSummary {
  const states = index.folders.map((folder) => folder.state)
  const isPaused = index.paused ?? states.includes('paused')
  const isBuilding = states.some((state) => state === 'building' || state === 'stale')
  const done = sum(index.folders, (folder) => folder.files_indexed)
  const all = sum(index.folders, (folder) => folder.files_total)
  const lines = index.folders.map(lineOf)
  if (index.waits_for) lines.push(`Waiting: ${index.waits_for}`)
  if (index.memory_mb) lines.push(`${Math.round(index.memory_mb)} MB of memory`)
  const text = isBuilding ? `${counted(done)} of ${counted(all)}` : states.length ? counted(done) : 'Winnow'
  const icon = isPaused
    ? 'debug-pause'
    : isBuilding
      ? 'sync~spin'
      : index.folders.some((folder) => folder.problem)
        ? 'warning'
        : 'search'
  return { icon, text, lines, isBuilding, isPaused }
}

function lineOf(folder: FolderStatus): string {
  const { files_indexed: done, files_total: all } = folder
  const problem = folder.problem ? `: ${folder.problem}` : ''
  return `Index of ${folder.folder}: ${folder.state}, ${counted(done)} of ${counted(all)} files${problem}`
}

function sum(folders: readonly FolderStatus[], count: (folder: FolderStatus) => number): number {
  return folders.reduce((total, folder) => total + count(folder), 0)
}
