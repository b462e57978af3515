import { spawn } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import * as path from 'node:path'
import * as vscode from 'vscode'

import { isInside } from './core/environment'
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

/** Report that no server was found and offer to install it. Return true if it was installed. */
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

/** Install the server into the extension's own virtual environment. Return true on success. */
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
      const venvPython = path.join(programsOf(folder), WINDOWS ? 'python.exe' : 'python')
      const packageName = vscode.workspace
        .getConfiguration('winnow')
        .get('server.package', 'winnow-ls')
      progress.report({ message: `pip install ${packageName}` })
      await run(venvPython, ['-m', 'pip', 'install', '--disable-pip-version-check', packageName], token)
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
    log.info(`Not using ${python}: ${version ? `it is Python ${version.join('.')}` : 'not found'}`)
  }
  throw new Error(`Winnow needs Python ${OLDEST_PYTHON.join('.')} or newer; found none`)
}

async function pythonVersion(python: string): Promise<[number, number] | undefined> {
  const code = 'import sys; print(*sys.version_info[:2], sys.executable)'
  try {
    const [major, minor, ...program] = (await output(python, ['-I', '-c', code])).trim().split(' ')
    const found = program.join(' ')
    const inWorkspace = workspaceFolders().some((folder) => isInside(found, folder))
    if (inWorkspace && !vscode.workspace.isTrusted) return undefined
    return [Number(major), Number(minor)]
  } catch {
    return undefined
  }
}

function isOlder([major, minor]: readonly [number, number]): boolean {
  return major < OLDEST_PYTHON[0] || (major === OLDEST_PYTHON[0] && minor < OLDEST_PYTHON[1])
}

/** Run a program and write its output to the log. Throws if it fails or is canceled. */
function run(command: string, args: string[], token: vscode.CancellationToken): Promise<void> {
  log.info(`${command} ${args.join(' ')}`)
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: programEnvironment(), windowsHide: true })
    const cancelListener = token.onCancellationRequested(() => child.kill())
    let lastLine = ''
    const logOutput = (text: Buffer) => {
      const lines = text.toString().split('\n').filter((line) => line.trim())
      for (const line of lines) log.info(line)
      lastLine = lines.at(-1) ?? lastLine
    }
    child.stdout.on('data', logOutput)
    child.stderr.on('data', logOutput)
    child.on('error', (error) => {
      cancelListener.dispose()
      reject(error)
    })
    child.on('close', (code) => {
      cancelListener.dispose()
      if (code === 0) resolve()
      else reject(new Error(lastLine || `${command} exited with code ${code}`))
    })
  })
}
