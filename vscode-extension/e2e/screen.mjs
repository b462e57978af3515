// What can be seen of elements. It runs in the page, so that it has nothing from outside, and at one
// moment, so that what it gives of several elements belongs together.

/**
 * Of each element the characters that a person can read, line by line: those that lie in the window,
 * are not cut off by an element around them, and are not below another element.
 */
export function readable(elements) {
  const style = (one) => getComputedStyle(one)
  // Not below another one; an ancestor is on top where the element lets the mouse through.
  const isOnTop = (element, x, y) => {
    const top = document.elementFromPoint(x, y)
    return top !== null && (element.contains(top) || top.contains(element))
  }
  const clips = (node) => {
    const boxes = [{ left: 0, top: 0, right: innerWidth, bottom: innerHeight }]
    for (let one = node.parentElement; one; one = one.parentElement) {
      const { overflowX, overflowY } = style(one)
      if (overflowX === 'visible' && overflowY === 'visible') continue
      boxes.push(one.getBoundingClientRect())
    }
    return boxes
  }
  return elements.map((element) => {
    const lines = []
    let whole = true
    let begins
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    const range = document.createRange()
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (style(node.parentElement).visibility === 'hidden') continue
      const around = clips(node)
      for (let at = 0; at < node.data.length; at++) {
        range.setStart(node, at)
        range.setEnd(node, at + 1)
        const box = range.getBoundingClientRect()
        if (!box.width) continue
        const x = (box.left + box.right) / 2
        const y = (box.top + box.bottom) / 2
        const isCut = around.some((one) => x < one.left || x > one.right || y < one.top || y > one.bottom)
        const isSeen = !isCut && isOnTop(element, x, y)
        if (node.data[at].trim()) begins ??= isSeen
        if (!isSeen) {
          whole = false
          continue
        }
        let line = lines.find((one) => Math.abs(one.y - y) < 4)
        if (!line) lines.push((line = { y, cells: [] }))
        line.cells.push({ x: box.left, text: node.data[at] })
      }
    }
    const text = lines
      .toSorted((one, other) => one.y - other.y)
      .map(({ cells }) => cells.toSorted((one, other) => one.x - other.x).map((one) => one.text).join(''))
      .map((line) => line.replaceAll('\u00a0', ' ').trimEnd())
      .join('\n')
    const { x, y, width, height } = element.getBoundingClientRect()
    const { className, textContent } = element
    const box = { x, y, width, height }
    return { text, whole: whole && text !== '', begins: begins === true, box, className, textContent }
  })
}
