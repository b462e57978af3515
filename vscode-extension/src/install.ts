import { spawn } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import * as path from 'node:path'
import * as vscode from 'vscode'

import { isInside } from './core/environment'
import {
  checkProgram,
  deleteOldEnvironments,
  locate,
  newEnvironment,
  output,
  PROGRAM,
  programOptions,
  programsOf,
  selectedPython,
  type ServerMissing,
  useEnvironment,
  workspaceFolders,
} from './locator'
import { log, messageOf } from './log'

const OLDEST_PYTHON = [3, 10] as const
const PYTHON_DOWNLOADS = 'https://www.python.org/downloads/'
const WINDOWS = process.platform === 'win32'

/** No usable Python was found. */
class PythonMissing extends Error {}

/** Report that no server was found and offer to install it. */
export async function offerServer(
  problem: ServerMissing,
  installServer: () => Promise<unknown>,
): Promise<void> {
  const install = 'Install It for Me'
  const settings = 'Settings'
  const chosen = await vscode.window.showWarningMessage(
    `Winnow: no server found. ${problem.message}`,
    install,
    settings,
    'Show Log',
  )
  if (chosen === install) await installServer()
  else if (chosen === settings) await openServerSettings()
  else if (chosen) log.show()
}

/** Return true if there is no usable server, or if the user wants to install another one. */
export async function wantsServer(context: vscode.ExtensionContext): Promise<boolean> {
  const found = await locate(context).catch(() => undefined)
  if (!found) return true
  const install = 'Install Anyway'
  const chosen = await vscode.window.showInformationMessage(
    `Winnow ${found.version} is already there: ${found.command}`,
    install,
  )
  return chosen === install
}

/**
 * Install the server into a new virtual environment of the extension. Return false if canceled.
 *
 * An environment installed earlier is used until the new one works, and stays if it doesn't.
 */
export async function installServer(
  context: vscode.ExtensionContext,
  packageName = vscode.workspace.getConfiguration('winnow').get('server.package', 'winnow-ls'),
): Promise<boolean> {
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: 'Winnow: installing the server',
    cancellable: true,
  }
  try {
    return await vscode.window.withProgress(options, async (progress, token) => {
      await installInto(context, packageName, (message) => progress.report({ message }), token)
      return !token.isCancellationRequested
    })
  } catch (error) {
    log.error(`Could not install the server: ${messageOf(error)}`)
    throw error
  }
}

async function installInto(
  context: vscode.ExtensionContext,
  packageName: string,
  report: (message: string) => void,
  token: vscode.CancellationToken,
): Promise<void> {
  const folder = newEnvironment(context)
  try {
    const python = await usablePython()
    report('creating a virtual environment')
    await mkdir(path.dirname(folder), { recursive: true })
    await deleteOldEnvironments(context)
    await run(python, ['-m', 'venv', folder], token)
    report(`pip install ${packageName}`)
    const venvPython = path.join(programsOf(folder), WINDOWS ? 'python.exe' : 'python')
    await run(venvPython, ['-m', 'pip', 'install', '--disable-pip-version-check', packageName], token)
    await checkProgram(path.join(programsOf(folder), PROGRAM), [])
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    if (token.isCancellationRequested) return
    throw error
  }
  await useEnvironment(context, folder)
}

/** Report a failed installation and offer what may work. Return the wheel to install, if the user chose one. */
export async function offerOtherWays(
  context: vscode.ExtensionContext,
  error: unknown,
): Promise<string | undefined> {
  const python = 'Get Python'
  const wheel = 'Choose a Wheel…'
  const page = 'Extension Page'
  const message =
    `Winnow: could not install the server: ${messageOf(error)}.` +
    ' The extension for your platform contains a server.'
  const first = error instanceof PythonMissing ? python : wheel
  const chosen = await vscode.window.showErrorMessage(message, first, page, 'Show Log')
  if (chosen === python) await vscode.env.openExternal(vscode.Uri.parse(PYTHON_DOWNLOADS))
  else if (chosen === page) await vscode.commands.executeCommand('extension.open', context.extension.id)
  else if (chosen === wheel) return chooseWheel()
  else if (chosen) log.show()
  return undefined
}

async function chooseWheel(): Promise<string | undefined> {
  const chosen = await vscode.window.showOpenDialog({
    title: 'Choose a wheel of winnow-ls',
    filters: { 'Python wheels': ['whl'] },
  })
  return chosen?.[0]?.fsPath
}

export function openServerSettings(): Thenable<unknown> {
  return vscode.commands.executeCommand('workbench.action.openSettings', 'winnow.server')
}

async function usablePython(): Promise<string> {
  const selected = await selectedPython()
  const names = WINDOWS ? ['py', 'python'] : ['python3', 'python']
  for (const python of selected ? [selected, ...names] : names) {
    const version = await pythonVersion(python)
    if (version && !isOlder(version)) return python
    log.info(`Not using ${python}: ${version ? `it is Python ${version.join('.')}` : 'not found'}`)
  }
  throw new PythonMissing(`it needs Python ${OLDEST_PYTHON.join('.')} or newer, and none was found`)
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
    const child = spawn(command, args, programOptions())
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
