import { describe, expect, test } from 'vitest'

import { answered, asked, type BoxState, CLOSED, deselected, entered, failed, isComplete, listed, moved, repeated, type ResultList, shows, typed, viewed } from './box'
import type { Row } from './rows'

const HEADLINE = { by: 'local', count: '', note: '', isEarly: false, details: [] }
const list = (keys: string, chosenCount = keys.length): ResultList => ({
  rows: [...keys].map((key) => ({ key }) as Row),
  chosenCount,
})
const keys = (state: BoxState) => state.rows.map((row) => row.key).join('')
const local = (rows: string, canAsk = false) => answered(typed(CLOSED, 'query'), list(rows), HEADLINE, canAsk)

describe('without a model', () => {
  test('the first row is selected, and Enter opens it', () => {
    const state = local('abc')
    expect([state.active, entered(state)]).toEqual(['a', 'open'])
  })

  test('Enter waits for the rows of the typed text', () => {
    const state = typed(local('abc'), 'query two')
    expect([keys(state), entered(state)]).toEqual(['abc', 'wait'])
    expect(entered(answered(state, list('x'), HEADLINE, false))).toBe('open')
  })

  test('the results view waits for the complete results of the typed text', () => {
    const state = typed(local('abc'), 'query two')
    expect([viewed(local('abc')), viewed(state), viewed(listed(state, list('x')))]).toEqual(['show', 'wait', 'wait'])
    expect(viewed(answered(state, list('x'), HEADLINE, false))).toBe('show')
    expect(viewed(answered(state, list(''), HEADLINE, false))).toBe('nothing')
  })

  test('a search is complete with its answer or its failure, not with its first rows', () => {
    const state = typed(local('abc'), 'query two')
    const states = [CLOSED, state, listed(state, list('x')), answered(state, list(''), HEADLINE, false), failed(state, new Error('no'))]
    expect(states.map(isComplete)).toEqual([false, false, false, true, true])
  })

  test('another text forgets that the results were wanted in the view', () => {
    expect(typed({ ...typed(CLOSED, 'query'), isForView: true }, 'query two').isForView).toBe(false)
  })

  test('a failed search is forgotten with its text and with a later answer', () => {
    const error = new Error('no')
    const state = failed(local('abc'), error)
    expect([keys(state), state.error, entered(state), viewed(state)]).toEqual(['', error, 'nothing', 'nothing'])
    expect(typed(state, 'query two').error).toBeUndefined()
    expect(answered(state, list('x'), HEADLINE, false).error).toBeUndefined()
  })

  test('Enter does nothing without results', () => {
    expect(entered(local(''))).toBe('nothing')
  })
})

describe('with a model', () => {
  test('no row is selected, and Enter asks it once', () => {
    const state = local('abc', true)
    expect([state.active, entered(state)]).toEqual([undefined, 'ask'])
    expect(entered(asked(state))).toBe('nothing')
  })

  test('Enter opens a row that the user moved to', () => {
    expect(entered(moved(local('abc', true), 'b'))).toBe('open')
  })

  test('Enter asks it if the editor selected the first row and deselected it', () => {
    const state = deselected(moved(local('abc', true), 'a'))
    expect([state.hasMoved, entered(state)]).toEqual([false, 'ask'])
    expect(entered(deselected(local('abc')))).toBe('open')
  })

  test('the local order that comes again changes nothing', () => {
    const state = asked(local('abc', true))
    expect([shows(state, list('abc')), shows(state, list('cab', 1)), shows(state, list('abcd'))]).toEqual([true, false, false])
    expect(shows(typed(state, 'another'), list('abc'))).toBe(false)
  })

  test("Enter opens the model's first choice when it has arrived", () => {
    const state = listed(asked(local('abc', true)), list('cab', 1))
    expect([state.active, keys(state), state.chosenCount, entered(state)]).toEqual(['c', 'cab', 1, 'open'])
    expect(entered(answered(state, list('cab', 1), HEADLINE, true))).toBe('open')
  })

  test('a new text may ask again', () => {
    const state = answered(typed(asked(local('abc', true)), 'other'), list('x'), HEADLINE, true)
    expect(entered(state)).toBe('ask')
  })
})

describe('a row that the user moved to stays at its index', () => {
  const at = (key: string) => asked(moved(local('abcdef', true), key))

  test.each([
    ['c', 'fbadce', 2, 'fbcade', 2],
    ['a', 'fbadce', 2, 'afbdce', 3],
    ['b', 'fbadce', 2, 'fbadce', 2],
    ['f', 'fbadce', 2, 'badcef', 1],
    ['e', 'fbadce', 0, 'fbadec', 0],
  ])('%s of abcdef in %s, of which %i are chosen', (key, order, chosen, shown, shownChosen) => {
    const state = listed(at(key), list(order, chosen))
    expect([keys(state), state.active, state.chosenCount]).toEqual([shown, key, shownChosen])
  })

  test('also if the answer no longer has it', () => {
    const state = listed(at('c'), list('fe'))
    expect([keys(state), state.chosenCount, state.active]).toEqual(['fec', 3, 'c'])
  })
})

describe('a search that is repeated while the index grows', () => {
  const more = { ...HEADLINE, note: 'more' }

  test('selects the new first row, or none while a model can rank them', () => {
    const states = [false, true].map((canAsk) => repeated(local('abc', canAsk), list('xab'), more, canAsk))
    expect(states.map(({ active }) => active)).toEqual(['x', undefined])
    expect(states.map(entered)).toEqual(['open', 'ask'])
    expect(states.map(({ headline }) => headline)).toEqual([more, more])
  })

  test('keeps the row that the user moved to', () => {
    const state = repeated(moved(local('abc', true), 'b'), list('xab'), more, true)
    expect([keys(state), state.active, entered(state)]).toEqual(['xba', 'b', 'open'])
  })

  test('offers the model if the first answer was empty', () => {
    const state = repeated(local('', true), list('ab'), more, true)
    expect([state.model, entered(state)]).toEqual(['available', 'ask'])
  })
})

test('selecting the selected row again is no move', () => {
  const state = local('abc')
  expect(moved(state, 'a')).toBe(state)
})
