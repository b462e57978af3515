/** Return a number with thousands separators: 1,234. */
export function formatNumber(count: number): string {
  return count.toLocaleString('en')
}
