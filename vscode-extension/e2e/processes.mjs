// The processes of this machine, as Linux has them.
import { readdirSync, readFileSync } from 'node:fs'

/** The processes that a process has started, and those that these have started. */
export function descendants(pid) {
  const all = processes()
  const found = []
  for (const parents = [pid]; parents.length; ) {
    const parent = parents.pop()
    for (const one of all) {
      if (one.parent !== parent) continue
      found.push(one)
      parents.push(one.pid)
    }
  }
  return found
}

/** The processes of this machine. */
function processes() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf-8')
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf-8').replaceAll('\0', ' ').trim()
        return state === 'Z' ? [] : [{ pid: Number(pid), parent: Number(parent), command }]
      } catch {
        return []
      }
    })
}

export function kill(pid, signal = 'SIGKILL') {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended already.
  }
}

/** The processes whose environment has a text. */
export function having(text) {
  return processes().filter(({ pid }) => {
    try {
      return pid !== process.pid && readFileSync(`/proc/${pid}/environ`, 'utf-8').includes(text)
    } catch {
      return false
    }
  })
}
