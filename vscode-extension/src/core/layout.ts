/** The arrangement of the editor groups, as the editor's commands have it. */

export interface EditorLayout {
  /** 0: the groups are columns, 1: rows. */
  readonly orientation: 0 | 1
  readonly groups: readonly LayoutGroup[]
}
interface LayoutGroup {
  readonly size?: number
  readonly groups?: readonly LayoutGroup[]
}

/** Sizes are rounded. */
const TOLERANCE = 4

export function countGroups({ groups }: { readonly groups: readonly LayoutGroup[] }): number {
  return groups.reduce((count, group) => count + (group.groups ? countGroups({ groups: group.groups }) : 1), 0)
}

/** Return the layout with another group below all others. */
export function withGroupBelow(layout: EditorLayout): EditorLayout {
  const above = layout.orientation === 0 ? layout.groups : [{ groups: layout.groups }]
  return { orientation: 1, groups: [{ groups: above, size: 0.5 }, { size: 0.5 }] }
}

/**
 * Return a layout as it was before one of its groups was maximized, or undefined if none was. `split` is the layout
 * `withGroupBelow` after that has ended. Only the sizes tell it: hidden groups keep theirs, and the maximized one fills
 * the window, so their sum is too large.
 */
export function beforeMaximized(layout: EditorLayout, split: EditorLayout): EditorLayout | undefined {
  const window = sum(layout.orientation === 0 ? (split.groups[0]?.groups ?? []) : split.groups)
  const excess = sum(layout.groups) - window
  if (excess <= TOLERANCE) return undefined
  const shrunk = ({ size = 0, ...group }: LayoutGroup) => ({
    ...group,
    size: size >= window - TOLERANCE ? size - excess : size,
  })
  return { ...layout, groups: layout.groups.map(shrunk) }
}

function sum(groups: readonly LayoutGroup[]): number {
  return groups.reduce((total, { size = 0 }) => total + size, 0)
}
