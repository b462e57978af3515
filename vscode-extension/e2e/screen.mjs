// Read the visible text of elements. The function runs in the page, so it can't use anything outside
// it. One call reads all elements, so their states are consistent.

/**
 * Return the readable text of each element, line by line: characters inside the window that no
 * ancestor cuts off and no other element covers.
 */
export function readable(elements) {
  const style = (element) => getComputedStyle(element)
  // An ancestor is on top if the element ignores the mouse.
  const isOnTop = (element, x, y) => {
    const top = document.elementFromPoint(x, y)
    return top !== null && (element.contains(top) || top.contains(element))
  }
  const clips = (node) => {
    const boxes = [{ left: 0, top: 0, right: innerWidth, bottom: innerHeight }]
    for (let ancestor = node.parentElement; ancestor; ancestor = ancestor.parentElement) {
      const { overflowX, overflowY } = style(ancestor)
      if (overflowX === 'visible' && overflowY === 'visible') continue
      boxes.push(ancestor.getBoundingClientRect())
    }
    return boxes
  }
  return elements.map((element) => {
    const lines = []
    let isComplete = true
    let startsVisible
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    const range = document.createRange()
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (style(node.parentElement).visibility === 'hidden') continue
      const clipBoxes = clips(node)
      for (let at = 0; at < node.data.length; at++) {
        range.setStart(node, at)
        range.setEnd(node, at + 1)
        const box = range.getBoundingClientRect()
        if (!box.width) continue
        const x = (box.left + box.right) / 2
        const y = (box.top + box.bottom) / 2
        const isCut = clipBoxes.some((clip) => x < clip.left || x > clip.right || y < clip.top || y > clip.bottom)
        const isVisible = !isCut && isOnTop(element, x, y)
        if (node.data[at].trim()) startsVisible ??= isVisible
        if (!isVisible) {
          isComplete = false
          continue
        }
        let line = lines.find((candidate) => Math.abs(candidate.y - y) < 4)
        if (!line) lines.push((line = { y, cells: [] }))
        line.cells.push({ x: box.left, text: node.data[at] })
      }
    }
    const text = lines
      .toSorted((left, right) => left.y - right.y)
      .map(({ cells }) => cells.toSorted((left, right) => left.x - right.x).map((cell) => cell.text).join(''))
      .map((line) => line.replaceAll('\u00a0', ' ').trimEnd())
      .join('\n')
    const { x, y, width, height } = element.getBoundingClientRect()
    const { className, textContent } = element
    const box = { x, y, width, height }
    return {
      text,
      isComplete: isComplete && text !== '',
      startsVisible: startsVisible === true,
      box,
      className,
      textContent,
    }
  })
}
