/** An answer while it comes: partial results and the result, in one list of rows. */

import type {
  KeywordSearchPartial,
  KeywordSearchResult,
  RankedBy,
  RankedFile,
  SearchAnswer,
} from './protocol'
import { type Row, rowOfFile } from './rows'

/** What can be shown now. Rows from `others` on were found, and not chosen by the model. */
export interface Shown {
  readonly rows: readonly Row[]
  readonly others: number
}

/** Collects one answer. `root` of partial results is the workspace's: only the result says it. */
export interface Collector<Partial, Result> {
  partial(value: Partial): void
  result(value: Result): void
  shown(): Shown
}

/** Results that add to those before; what was streamed is not in the result again. */
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

  shown(): Shown {
    return { rows: [...this.rows.values()], others: this.rows.size }
  }

  private add(value: Partial | Result, root: string): void {
    for (const row of this.rowsOf(value, root)) {
      if (!this.rows.has(row.key)) this.rows.set(row.key, row)
    }
  }
}

/**
 * A keyword search: the local order at once, then a model's choice, file by file.
 *
 * Whatever the model has not chosen stays below what it has: a row never vanishes under the cursor.
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
    // Another model has taken over from one that failed.
    if (value.ranked_by.model !== this.rankedBy.model) this.chosen = []
    this.rankedBy = value.ranked_by
    this.chosen.push(...value.files)
  }

  result(value: KeywordSearchResult): void {
    this.root = value.root
    this.rankedBy = value.ranked_by
    const unsaid = { reason: '', terms: [], matches: [] }
    this.notChosen = (value.not_chosen ?? []).map((file) => ({ ...unsaid, ...file }))
    if (value.ranked_by.kind === 'llm') {
      this.chosen = value.files
    } else {
      this.chosen = []
      this.local = value.files
    }
  }

  shown(): Shown {
    const rows = new Map<string, Row>()
    for (const row of this.rowsOf(this.chosen)) rows.set(row.key, row)
    const others = rows.size
    // What was streamed says more of a file than its name.
    for (const row of this.rowsOf([...this.local, ...this.notChosen])) {
      if (!rows.has(row.key)) rows.set(row.key, row)
    }
    const byModel = this.rankedBy.kind === 'llm'
    return { rows: [...rows.values()], others: byModel ? others : rows.size }
  }

  private rowsOf(files: readonly RankedFile[]): Row[] {
    return files.map((file) => rowOfFile(file, this.root))
  }
}
