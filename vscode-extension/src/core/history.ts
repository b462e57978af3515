/** The queries of a mode, the latest first. */

export const MOST_QUERIES = 50

/** The history with a query in front, each once. */
export function remembered(history: readonly string[], query: string): string[] {
  const trimmed = query.trim()
  if (!trimmed) return [...history]
  return [trimmed, ...history.filter((one) => one !== trimmed)].slice(0, MOST_QUERIES)
}
