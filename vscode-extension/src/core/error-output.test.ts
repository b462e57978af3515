import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'

import { ErrorOutput } from './error-output'

test('the last line of a program that ended tells why', async () => {
  const lines: string[] = []
  const output = new ErrorOutput((line) => lines.push(line))
  const stderr = new PassThrough()
  output.read(stderr)
  const last = output.lastLine(5_000)
  stderr.end('Traceback:\n  x\nModuleNotFoundError: No module named x\n\n')
  expect(await last).toBe('ModuleNotFoundError: No module named x')
  expect(lines).toEqual(['Traceback:', '  x', 'ModuleNotFoundError: No module named x', ''])
})

test('a program that runs has no last line, and neither has one that was not started', async () => {
  const output = new ErrorOutput(() => undefined)
  expect(await output.lastLine(1)).toBeUndefined()
  const stderr = new PassThrough()
  output.read(stderr)
  stderr.write('a warning\n')
  expect(await output.lastLine(1)).toBeUndefined()
})
