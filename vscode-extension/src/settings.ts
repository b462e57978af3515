import * as vscode from 'vscode'

import { excludedGlobs, serverSettings, type Setting } from './core/settings'

/** The server's settings, as far as somebody has set them in the editor. */
export function configurationForServer(extension: vscode.Extension<unknown>): Record<string, unknown> {
  const configuration = vscode.workspace.getConfiguration('winnow')
  return serverSettings(serverSettingNames(extension).map((name) => settingOf(configuration, name)))
}

/** The names of the settings in package.json that are the server's: the first category is not. */
function serverSettingNames(extension: vscode.Extension<unknown>): string[] {
  const { contributes } = extension.packageJSON as {
    contributes: { configuration: { properties: Record<string, unknown> }[] }
  }
  return contributes.configuration
    .slice(1)
    .flatMap((category) => Object.keys(category.properties))
    .map((name) => name.replace(/^winnow\./, ''))
}

function settingOf(configuration: vscode.WorkspaceConfiguration, name: string): Setting {
  const value = configuration.get<unknown>(name)
  const told = configuration.inspect<unknown>(name)
  // A workspace's value may be one that VS Code does not let count; `value` is then the default.
  const ofWorkspace =
    told?.workspaceValue !== undefined &&
    (vscode.workspace.isTrusted || JSON.stringify(value) !== JSON.stringify(told.defaultValue))
  return { name, value, isSet: told?.globalValue !== undefined || ofWorkspace }
}

/** Globs that the editor's own searches leave out, of all folders. */
export function editorExcludes(): string[] {
  if (!vscode.workspace.getConfiguration('winnow').get('useExcludeSettings', true)) return []
  const scopes = [undefined, ...(vscode.workspace.workspaceFolders ?? []).map((one) => one.uri)]
  const globs = scopes.flatMap((scope) => {
    const configuration = vscode.workspace.getConfiguration(undefined, scope ?? null)
    const setting = (name: string) => configuration.get<Record<string, unknown>>(name)
    return excludedGlobs(setting('files.exclude'), setting('search.exclude'))
  })
  return [...new Set(globs)]
}
