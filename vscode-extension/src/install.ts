import { spawn } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import * as path from 'node:path'
import * as vscode from 'vscode'

import { isBelow } from './core/environment'
import {
  output,
  privateEnvironment,
  programEnvironment,
  programsOf,
  selectedPython,
  type ServerMissing,
  workspaceFolders,
} from './locator'
import { log, messageOf } from './log'

const OLDEST_PYTHON = [3, 10] as const
const WINDOWS = process.platform === 'win32'

/** Says that there is no server and what can be done; whether there is one afterwards. */
export async function offerServer(
  context: vscode.ExtensionContext,
  problem: ServerMissing,
): Promise<boolean> {
  const install = 'Install It for Me'
  const settings = 'Settings'
  const chosen = await vscode.window.showWarningMessage(
    `Winnow: no server found. ${problem.message}`,
    {
      modal: false,
    },
    install,
    settings,
    'Show Log',
  )
  if (chosen === install) return installServer(context)
  if (chosen === settings) {
    await vscode.commands.executeCommand('workbench.action.openSettings', 'winnow.server')
  } else if (chosen) log.show()
  return false
}

/** Makes a virtual environment of the extension's own and installs the server; whether it worked. */
export async function installServer(context: vscode.ExtensionContext): Promise<boolean> {
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: 'Winnow: installing the server',
    cancellable: true,
  }
  return vscode.window.withProgress(options, async (progress, token) => {
    const folder = privateEnvironment(context)
    try {
      const python = await usablePython()
      progress.report({ message: 'creating a virtual environment' })
      await rm(folder, { recursive: true, force: true })
      await mkdir(path.dirname(folder), { recursive: true })
      await run(python, ['-m', 'venv', folder], token)
      const own = path.join(programsOf(folder), WINDOWS ? 'python.exe' : 'python')
      const wanted = vscode.workspace
        .getConfiguration('winnow')
        .get('server.package', 'winnow-ls')
      progress.report({ message: `pip install ${wanted}` })
      await run(own, ['-m', 'pip', 'install', '--disable-pip-version-check', wanted], token)
      return true
    } catch (error) {
      await rm(folder, { recursive: true, force: true })
      if (token.isCancellationRequested) return false
      log.error(`Could not install the server: ${messageOf(error)}`)
      void vscode.window
        .showErrorMessage(`Winnow: could not install the server: ${messageOf(error)}`, 'Show Log')
        .then((chosen) => chosen && log.show())
      return false
    }
  })
}

async function usablePython(): Promise<string> {
  const selected = await selectedPython()
  const names = WINDOWS ? ['py', 'python'] : ['python3', 'python']
  for (const python of selected ? [selected, ...names] : names) {
    const version = await pythonVersion(python)
    if (version && !isOlder(version)) return python
    log.info(`${python} not used: ${version ? `it is Python ${version.join('.')}` : 'not found'}`)
  }
  throw new Error(`Winnow needs Python ${OLDEST_PYTHON.join('.')} or newer; found none`)
}

async function pythonVersion(python: string): Promise<[number, number] | undefined> {
  const code = 'import sys; print(*sys.version_info[:2], sys.executable)'
  try {
    const [major, minor, ...program] = (await output(python, ['-I', '-c', code])).trim().split(' ')
    const found = program.join(' ')
    const own = workspaceFolders().some((folder) => isBelow(found, folder))
    if (own && !vscode.workspace.isTrusted) return undefined
    return [Number(major), Number(minor)]
  } catch {
    return undefined
  }
}

function isOlder([major, minor]: readonly [number, number]): boolean {
  return major < OLDEST_PYTHON[0] || (major === OLDEST_PYTHON[0] && minor < OLDEST_PYTHON[1])
}

/** Runs a program with its output in the log. Throws if it fails or is cancelled. */
function run(command: string, args: string[], token: vscode.CancellationToken): Promise<void> {
  log.info(`${command} ${args.join(' ')}`)
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: programEnvironment(), windowsHide: true })
    const cancelling = token.onCancellationRequested(() => child.kill())
    let last = ''
    const tell = (text: Buffer) => {
      const lines = text.toString().split('\n').filter((line) => line.trim())
      for (const line of lines) log.info(line)
      last = lines.at(-1) ?? last
    }
    child.stdout.on('data', tell)
    child.stderr.on('data', tell)
    child.on('error', (error) => {
      cancelling.dispose()
      reject(error)
    })
    child.on('close', (code) => {
      cancelling.dispose()
      if (code === 0) resolve()
      else reject(new Error(last || `${command} exited with code ${code}`))
    })
  })
}
