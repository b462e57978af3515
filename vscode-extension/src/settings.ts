import * as vscode from 'vscode'

import { excludedGlobs, serverSettings, type Setting } from './core/settings'

/** Return the server's settings that the user set in the editor. */
export function configurationForServer(extension: vscode.Extension<unknown>): Record<string, unknown> {
  const configuration = vscode.workspace.getConfiguration('winnow')
  return serverSettings(serverSettingNames(extension).map((name) => settingOf(configuration, name)))
}

/** Return the names of the server's settings in package.json: all categories but the first. */
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
  const inspected = configuration.inspect<unknown>(name)
  // In restricted mode, VS Code ignores some workspace values; `value` is then the default.
  const isSetByWorkspace =
    inspected?.workspaceValue !== undefined &&
    (vscode.workspace.isTrusted || JSON.stringify(value) !== JSON.stringify(inspected.defaultValue))
  return { name, value, isSet: inspected?.globalValue !== undefined || isSetByWorkspace }
}

/** Return the globs that the editor's own search excludes, from all folders. */
export function editorExcludes(): string[] {
  if (!vscode.workspace.getConfiguration('winnow').get('useExcludeSettings', true)) return []
  const scopes = [undefined, ...(vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri)]
  const globs = scopes.flatMap((scope) => {
    const configuration = vscode.workspace.getConfiguration(undefined, scope ?? null)
    const setting = (name: string) => configuration.get<Record<string, unknown>>(name)
    return excludedGlobs(setting('files.exclude'), setting('search.exclude'))
  })
  return [...new Set(globs)]
}
