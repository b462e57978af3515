// Find processes on this machine. Works only on Linux.
import { readdirSync, readFileSync } from 'node:fs'

/** Return the descendants of a process. */
export function descendants(pid) {
  const all = processes()
  const found = []
  for (const parents = [pid]; parents.length; ) {
    const parent = parents.pop()
    for (const child of all) {
      if (child.parent !== parent) continue
      found.push(child)
      parents.push(child.pid)
    }
  }
  return found
}

/** Return all processes of this machine except zombies. */
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
    // It has already exited.
  }
}

/** Return the processes whose environment contains a text. */
export function withEnvironment(text) {
  return processes().filter(({ pid }) => {
    try {
      return pid !== process.pid && readFileSync(`/proc/${pid}/environ`, 'utf-8').includes(text)
    } catch {
      return false
    }
  })
}
