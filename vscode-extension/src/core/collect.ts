/** Merge partial results and the final result into one list of rows. */

import type {
  KeywordSearchPartial,
  KeywordSearchResult,
  RankedBy,
  RankedFile,
  SearchAnswer,
} from './protocol'
import { type Row, rowOfFile } from './rows'

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

/**
 * The list of a keyword search: the local order first, then the model's files as they arrive.
 *
 * Files the model didn't choose stay below those it chose, so no row vanishes under the cursor.
 */
export class Ranking implements Collector<KeywordSearchPartial, KeywordSearchResult> {
  private local: RankedFile[] = []
  private chosen: RankedFile[] = []
  private notChosen: RankedFile[] = []
  rankedBy: RankedBy = { kind: 'local' }

  constructor(private root: string) {}

  partial(value: KeywordSearchPartial): void {
    if (value.ranked_by.kind === 'local') {
      this.local = value.files
      return
    }
    // The previous model failed, and another one continues.
    if (value.ranked_by.model !== this.rankedBy.model) this.chosen = []
    this.rankedBy = value.ranked_by
    this.chosen.push(...value.files)
  }

  result(value: KeywordSearchResult): void {
    this.root = value.root
    this.rankedBy = value.ranked_by
    const defaults = { reason: '', terms: [], matches: [] }
    this.notChosen = (value.not_chosen ?? []).map((file) => ({ ...defaults, ...file }))
    if (value.ranked_by.kind === 'llm') {
      this.chosen = value.files
    } else {
      this.chosen = []
      this.local = value.files
    }
  }

  list(): ResultList {
    const rows = new Map<string, Row>()
    for (const row of this.rowsOf(this.chosen)) rows.set(row.key, row)
    const chosenCount = rows.size
    // Streamed files come first: they have lines and reasons, which `not_chosen` lacks.
    for (const row of this.rowsOf([...this.local, ...this.notChosen])) {
      if (!rows.has(row.key)) rows.set(row.key, row)
    }
    const byModel = this.rankedBy.kind === 'llm'
    return { rows: [...rows.values()], chosenCount: byModel ? chosenCount : rows.size }
  }

  private rowsOf(files: readonly RankedFile[]): Row[] {
    return files.map((file) => rowOfFile(file, this.root))
  }
}
