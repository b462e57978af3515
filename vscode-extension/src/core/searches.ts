/** Recent searches and the position in their results. */

import type { Search } from './kinds'
import type { Row } from './rows'

/** Maximum number of stored searches. Each holds at most a few hundred rows. */
export const MAX_SEARCHES = 10

export type NewSearch = Omit<Search, 'id'>

/** Stored searches, the latest first, and the result opened last. */
export class Searches {
  private searches: Search[] = []
  private lastId = 0
  private position: { search: number; row: number } | undefined

  get all(): readonly Search[] {
    return this.searches
  }

  /** The search that "next result" and "previous result" step through. */
  get current(): Search | undefined {
    return this.searches.find((search) => search.id === this.position?.search) ?? this.searches[0]
  }

  /** Store a search. It replaces an earlier one with the same text. */
  add(search: NewSearch): Search {
    const stored = { ...search, id: ++this.lastId }
    const others = this.searches.filter((earlier) => earlier.text !== search.text)
    this.searches = [stored, ...others].slice(0, MAX_SEARCHES)
    this.position = { search: stored.id, row: -1 }
    return stored
  }

  remove(id: number): void {
    this.searches = this.searches.filter((search) => search.id !== id)
  }

  clear(): void {
    this.searches = []
    this.position = undefined
  }

  /** Record that a result was opened: "next result" and "previous result" continue there. */
  opened(id: number, key: string): void {
    const search = this.searches.find((candidate) => candidate.id === id)
    const row = search?.rows.findIndex((candidate) => candidate.key === key)
    if (row !== undefined && row >= 0) this.position = { search: id, row }
  }

  /** Return the next or previous result of the current search, wrapping around at the ends. */
  step(by: 1 | -1): { search: Search; row: Row } | undefined {
    const search = this.current
    const count = search?.rows.length
    if (!search || !count) return undefined
    const from = this.position?.search === search.id ? this.position.row : -1
    const index = from < 0 && by < 0 ? count - 1 : (from + by + count) % count
    this.position = { search: search.id, row: index }
    const row = search.rows[index]
    return row && { search, row }
  }
}
