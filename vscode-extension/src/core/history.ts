/** The queries of a workspace, the latest first. */

export const MAX_QUERIES = 100

/** Return the history with `query` moved to the front. */
export function withQuery(history: readonly string[], query: string): string[] {
  const trimmed = query.trim()
  if (!trimmed) return [...history]
  return [trimmed, ...history.filter((earlier) => earlier !== trimmed)].slice(0, MAX_QUERIES)
}
