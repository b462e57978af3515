/** The last searches, and where somebody is in their results. */

import type { AnyMode, Search } from './modes'
import type { Row } from './rows'

/** Searches that are kept; each holds some hundred rows at most. */
export const MOST_SEARCHES = 10

export type NewSearch = Omit<Search, 'id'>

/** Searches, the latest first, and the result that was opened last. */
export class Searches {
  private kept: Search[] = []
  private ids = 0
  private at: { search: number; row: number } | undefined

  get all(): readonly Search[] {
    return this.kept
  }

  /** The search that next and previous go through. */
  get current(): Search | undefined {
    return this.kept.find((one) => one.id === this.at?.search) ?? this.kept[0]
  }

  /** Keeps a search; the same query of the same mode is there once. */
  add(search: NewSearch): Search {
    const kept = { ...search, id: ++this.ids }
    const others = this.kept.filter((one) => !isSame(one, search.mode, search.query))
    this.kept = [kept, ...others].slice(0, MOST_SEARCHES)
    this.at = { search: kept.id, row: -1 }
    return kept
  }

  remove(id: number): void {
    this.kept = this.kept.filter((one) => one.id !== id)
  }

  clear(): void {
    this.kept = []
    this.at = undefined
  }

  /** Remembers that a result was opened: next and previous go on from there. */
  opened(id: number, key: string): void {
    const row = this.kept.find((one) => one.id === id)?.rows.findIndex((one) => one.key === key)
    if (row !== undefined && row >= 0) this.at = { search: id, row }
  }

  /** The next result of the current search (or the one before), going round at its ends. */
  step(by: 1 | -1): { search: Search; row: Row } | undefined {
    const search = this.current
    const count = search?.rows.length
    if (!search || !count) return undefined
    const from = this.at?.search === search.id ? this.at.row : -1
    const place = from < 0 && by < 0 ? count - 1 : (from + by + count) % count
    this.at = { search: search.id, row: place }
    const row = search.rows[place]
    return row && { search, row }
  }
}

function isSame(search: Search, mode: AnyMode, query: string): boolean {
  return search.mode.id === mode.id && search.query === query
}
