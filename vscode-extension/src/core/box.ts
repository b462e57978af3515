/**
 * The state of the search box as a pure function of what happened: no editor, no timers.
 *
 * Two rules hold. A row that the user moved to keeps its index, and so its place on the screen. And
 * Enter opens the selected row and nothing else: while a model can still rank the rows, no row is
 * selected until the user selects one, and Enter asks the model.
 */

import type { ResultList } from './collect'
import type { Headline } from './headline'
import type { Row } from './rows'

export type { ResultList }

export interface BoxState {
  /** The typed text. */
  readonly text: string
  /** The text that the rows answer. */
  readonly answered: string | undefined
  readonly rows: readonly Row[]
  /** The model chose the first rows, up to this one. */
  readonly chosenCount: number
  readonly active: string | undefined
  /** True if the user selected a row of these results. */
  readonly hasMoved: boolean
  /** The state of the language model for the typed text. `asked` includes that it has answered. */
  readonly model: 'none' | 'available' | 'asked'
  /** True if Enter was pressed before the rows arrived. */
  readonly isEntered: boolean
  /** True if the user wants the results in the view as soon as they are complete. */
  readonly isForView: boolean
  readonly headline: Headline | undefined
  /** Why the search for the typed text failed. */
  readonly error: Error | undefined
}

export const CLOSED: BoxState = {
  text: '',
  answered: undefined,
  rows: [],
  chosenCount: 0,
  active: undefined,
  hasMoved: false,
  model: 'none',
  isEntered: false,
  isForView: false,
  headline: undefined,
  error: undefined,
}

/** Return the state after the text changed. The rows stay until there are new ones. */
export function typed(state: BoxState, text: string): BoxState {
  if (text === state.text) return state
  const active = state.rows[0]?.key
  return { ...state, text, active, hasMoved: false, isEntered: false, isForView: false, model: 'none', headline: undefined, error: undefined }
}

/** Return the state after the user selected a row. */
export function moved(state: BoxState, key: string): BoxState {
  return key === state.active ? state : { ...state, active: key, hasMoved: true, isEntered: false }
}

/** Return the state after the editor deselected all rows, as it does while a model can rank them. */
export function deselected(state: BoxState): BoxState {
  return state.model === 'available' ? { ...state, active: undefined, hasMoved: false } : state
}

/** Return the state after rows for the typed text arrived. */
export function listed(state: BoxState, list: ResultList): BoxState {
  const { rows, chosenCount } = state.hasMoved ? pinned(list, state) : list
  const active = state.hasMoved ? state.active : rows[0]?.key
  return { ...state, rows, chosenCount, active, answered: state.text, error: undefined }
}

/** Return true if the state shows these rows already. Updates of a list can undo moves of the user. */
export function shows(state: BoxState, { rows, chosenCount }: ResultList): boolean {
  return (
    state.answered === state.text &&
    state.chosenCount === chosenCount &&
    state.rows.length === rows.length &&
    rows.every(({ key }, index) => key === state.rows[index]?.key)
  )
}

/**
 * Return the state after the answer for the typed text is complete.
 *
 * While a model can still rank the rows, none is selected until the user selects one.
 */
export function answered(
  state: BoxState,
  list: ResultList,
  headline: Headline,
  canAsk: boolean,
): BoxState {
  const next = { ...listed(state, list), headline }
  if (state.model === 'asked') return next
  if (!canAsk || !list.rows.length || state.hasMoved) return { ...next, model: 'none' }
  return { ...next, model: 'available', active: undefined }
}

/** Return the state after the same search found more, because the index has grown. */
export function repeated(
  state: BoxState,
  list: ResultList,
  headline: Headline,
  canAsk: boolean,
): BoxState {
  if (!state.hasMoved) return answered(state, list, headline, canAsk)
  return { ...listed(state, list), headline }
}

/** Return the state after the search for the typed text failed. */
export function failed(state: BoxState, error: Error): BoxState {
  return { ...CLOSED, text: state.text, answered: state.text, error }
}

/** Return the state while a model ranks the rows. */
export function asked(state: BoxState): BoxState {
  return { ...state, model: 'asked', isEntered: false }
}

/**
 * Return what Enter does: it opens the selected row; without one, it asks the model, which is
 * available then. Before the rows arrive, it waits for them.
 */
export function entered(state: BoxState): 'open' | 'ask' | 'wait' | 'nothing' {
  if (state.answered !== state.text) return 'wait'
  if (state.active !== undefined) return 'open'
  return state.model === 'available' ? 'ask' : 'nothing'
}

/** Return true if the search for the typed text has ended, also if it failed. */
export function isComplete({ headline, error }: BoxState): boolean {
  return headline !== undefined || error !== undefined
}

/**
 * Return what "Show in Results View" does: it shows the results of the typed text, and waits until
 * they are complete. Without any, the box says so.
 */
export function viewed(state: BoxState): 'show' | 'wait' | 'nothing' {
  if (state.text && !isComplete(state)) return 'wait'
  return state.text && !state.rows.length ? 'nothing' : 'show'
}

/** Return the list with the selected row at the index where it is now. */
function pinned(list: ResultList, state: BoxState): ResultList {
  const index = state.rows.findIndex(({ key }) => key === state.active)
  const shown = state.rows[index]
  if (!shown) return list
  const before = list.rows.findIndex(({ key }) => key === shown.key)
  const row = list.rows[before] ?? shown
  const others = list.rows.filter(({ key }) => key !== row.key)
  const isChosen = before >= 0 && before < list.chosenCount
  const othersChosen = list.chosenCount - (isChosen ? 1 : 0)
  const at = Math.min(index, others.length)
  const rows = [...others.slice(0, at), row, ...others.slice(at)]
  if (list.chosenCount === list.rows.length) return { rows, chosenCount: rows.length }
  return {
    rows,
    chosenCount: othersChosen + (at <= othersChosen && (isChosen || at < othersChosen) ? 1 : 0),
  }
}
