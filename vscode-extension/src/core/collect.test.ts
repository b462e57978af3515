import { describe, expect, test } from 'vitest'

import { Appending, Ranking } from './collect'
import type { KeywordSearchPartial, KeywordSearchResult, RankedBy, RankedFile } from './protocol'
import { type Row, rowOfFile, rowOfNotChosen } from './rows'

const LOCAL: RankedBy = { kind: 'local' }
const MODEL: RankedBy = { kind: 'llm', model: 'm', provider: 'openai' }

const file = (path: string, reason = `why ${path}`): RankedFile => ({
  path,
  reason,
  terms: [],
  matches: [],
})

const result = (files: RankedFile[], ranked_by: RankedBy): KeywordSearchResult => ({
  root: '/root',
  files,
  ranked_by,
  no_relevant_files: !files.length,
  terms: [],
  search_id: 'id',
  total_found: files.length,
  returned: files.length,
  truncated: false,
  completeness: { complete: true, reasons: [], skipped: {}, timed_out: false },
  warnings: [],
})

type KeywordRanking = Ranking<KeywordSearchPartial, KeywordSearchResult>

const newRanking = (): KeywordRanking =>
  new Ranking('/root', {
    rows: ({ files }, root) => files.map((found) => rowOfFile(found, root)),
    others: ({ not_chosen = [] }, root) => not_chosen.map((found) => rowOfNotChosen(found, root)),
  })

const order = (ranking: KeywordRanking) => {
  const { rows, chosenCount } = ranking.list()
  return { paths: rows.map((row) => row.path), chosenCount }
}

describe('a ranked search', () => {
  test('shows the latest local order and counts all files as chosen', () => {
    const ranking = newRanking()
    ranking.partial({ files: [file('a'), file('b')], ranked_by: LOCAL })
    ranking.partial({ files: [file('b'), file('a'), file('c')], ranked_by: LOCAL })
    expect(order(ranking)).toEqual({ paths: ['b', 'a', 'c'], chosenCount: 3 })
  })

  test("puts the model's files first as they arrive and keeps the other files below", () => {
    const ranking = newRanking()
    ranking.partial({ files: [file('a'), file('b'), file('c')], ranked_by: LOCAL })
    ranking.partial({ files: [file('c', 'it does it')], ranked_by: MODEL })
    expect(order(ranking)).toEqual({ paths: ['c', 'a', 'b'], chosenCount: 1 })
    expect(ranking.list().rows[0]?.reason).toBe('it does it')
    ranking.result(result([file('c', 'it does it'), file('b')], MODEL))
    expect(order(ranking)).toEqual({ paths: ['c', 'b', 'a'], chosenCount: 2 })
  })

  test("drops a failed model's files when another model takes over", () => {
    const ranking = newRanking()
    ranking.partial({ files: [file('a'), file('b')], ranked_by: LOCAL })
    ranking.partial({ files: [file('b')], ranked_by: MODEL })
    ranking.partial({ files: [file('a')], ranked_by: { ...MODEL, model: 'other' } })
    expect(order(ranking)).toEqual({ paths: ['a', 'b'], chosenCount: 1 })
  })

  test('returns to the local order if every model failed', () => {
    const ranking = newRanking()
    ranking.partial({ files: [file('b')], ranked_by: MODEL })
    ranking.result(result([file('a'), file('b')], { ...LOCAL, fallback_reason: 'no' }))
    expect(order(ranking)).toEqual({ paths: ['a', 'b'], chosenCount: 2 })
  })

  test('shows files below that were neither chosen nor streamed', () => {
    const ranking = newRanking()
    ranking.partial({ files: [file('a')], ranked_by: LOCAL })
    const not_chosen = [{ path: 'a', line: 3 }, { path: 'c', line: 7 }]
    ranking.result({ ...result([file('b')], MODEL), not_chosen })
    expect(order(ranking)).toEqual({ paths: ['b', 'a', 'c'], chosenCount: 1 })
    expect(ranking.list().rows.map((row) => [row.name, row.reason])).toEqual([
      ['b', 'why b'],
      ['a', 'why a'],
      ['c:7', ''],
    ])
  })

  test('keeps the rows of an earlier local answer below', () => {
    const ranking = newRanking()
    ranking.start(['a', 'b'].map((path) => rowOfFile(file(path), '/root')))
    ranking.partial({ files: [file('b')], ranked_by: MODEL })
    expect(order(ranking)).toEqual({ paths: ['b', 'a'], chosenCount: 1 })
  })

  test('shows every file below if the model chose none', () => {
    const ranking = newRanking()
    ranking.partial({ files: [file('a')], ranked_by: LOCAL })
    ranking.result(result([], MODEL))
    expect(order(ranking)).toEqual({ paths: ['a'], chosenCount: 0 })
  })
})

test('the result does not repeat streamed rows', () => {
  const row = (key: string) => ({ key }) as Row
  const collector = new Appending<{ keys: string[] }, KeywordSearchResult & { keys: string[] }>(
    '/root',
    (value) => value.keys.map(row),
  )
  collector.partial({ keys: ['a', 'b'] })
  collector.partial({ keys: ['b', 'c'] })
  collector.result({ ...result([], LOCAL), keys: ['c', 'd'] })
  expect(collector.list().rows.map((row) => row.key)).toEqual(['a', 'b', 'c', 'd'])
})
