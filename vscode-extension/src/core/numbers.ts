/** Return a number with thousands separators: 1,234. */
export function formatNumber(count: number): string {
  return count.toLocaleString('en')
}

/** Return a number with its noun: 1 file, 2 files, 3 matches. */
export function plural(count: number, noun: string): string {
  const ending = count === 1 ? '' : /(ch|s)$/.test(noun) ? 'es' : 's'
  return `${formatNumber(count)} ${noun}${ending}`
}
