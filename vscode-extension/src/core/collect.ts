/** Merge partial results and the final result into one list of rows. */

import type { RankedBy, SearchAnswer } from './protocol'
import type { Row } from './rows'

/** The rows to show now. The model chose the first `chosenCount`; the search found the others too. */
export interface ResultList {
  readonly rows: readonly Row[]
  readonly chosenCount: number
}

/** The results of one search so far. Partial results have no `root`, so they use the workspace's. */
export interface Collector<Partial, Result> {
  partial(value: Partial): void
  result(value: Result): void
  list(): ResultList
}

/** A list in which each partial result adds rows; the final result doesn't repeat streamed rows. */
export class Appending<Partial, Result extends SearchAnswer> implements Collector<Partial, Result> {
  private readonly rows = new Map<string, Row>()

  constructor(
    private readonly root: string,
    private readonly rowsOf: (value: Partial | Result, root: string) => Row[],
  ) {}

  partial(value: Partial): void {
    this.add(value, this.root)
  }

  result(value: Result): void {
    this.add(value, value.root)
  }

  list(): ResultList {
    return { rows: [...this.rows.values()], chosenCount: this.rows.size }
  }

  private add(value: Partial | Result, root: string): void {
    for (const row of this.rowsOf(value, root)) {
      if (!this.rows.has(row.key)) this.rows.set(row.key, row)
    }
  }
}

/** Any answer of a search that a language model may rank. */
interface Ranked {
  readonly ranked_by: RankedBy
}

/** Convert answers to rows. */
export interface RankedRows<Partial, Result> {
  rows(value: Partial | Result, root: string): Row[]
  /** Return the rows that a model saw and didn't choose. */
  others(value: Result, root: string): Row[]
}

/**
 * The list of a ranked search: the local order first, then the model's choices as they arrive.
 *
 * Rows the model didn't choose stay below those it chose, so no row vanishes under the cursor.
 */
export class Ranking<Partial extends Ranked, Result extends Ranked & SearchAnswer>
  implements Collector<Partial, Result>
{
  private local: Row[] = []
  private chosen: Row[] = []
  private others: Row[] = []
  private rankedBy: RankedBy = { kind: 'local' }

  constructor(
    private readonly root: string,
    private readonly convert: RankedRows<Partial, Result>,
  ) {}

  /** Start with rows of an earlier answer in the local order. */
  start(rows: readonly Row[]): void {
    this.local = [...rows]
  }

  partial(value: Partial): void {
    const rows = this.convert.rows(value, this.root)
    if (value.ranked_by.kind === 'local') {
      this.local = rows
      return
    }
    // The previous model failed, and another one continues.
    if (value.ranked_by.model !== this.rankedBy.model) this.chosen = []
    this.rankedBy = value.ranked_by
    this.chosen.push(...rows)
  }

  result(value: Result): void {
    const rows = this.convert.rows(value, value.root)
    this.rankedBy = value.ranked_by
    this.others = this.convert.others(value, value.root)
    if (value.ranked_by.kind === 'llm') {
      this.chosen = rows
    } else {
      this.chosen = []
      this.local = rows
    }
  }

  list(): ResultList {
    const rows = new Map<string, Row>()
    for (const row of this.chosen) rows.set(row.key, row)
    const chosenCount = rows.size
    // Local rows come first: they have code and reasons, which those not chosen lack.
    for (const row of [...this.local, ...this.others]) {
      if (!rows.has(row.key)) rows.set(row.key, row)
    }
    return { rows: [...rows.values()], chosenCount: this.rankedBy.kind === 'llm' ? chosenCount : rows.size }
  }
}
