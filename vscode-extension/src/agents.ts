import * as vscode from 'vscode'

import { callTool } from './core/protocol'
import { locate, output, programEnvironment } from './locator'
import { log, messageOf } from './log'
import type { Secrets } from './secrets'
import type { Server } from './server'
import { editorExcludes } from './settings'

/** A tool as package.json has it; written by the server's `winnow manifest`. */
interface Contributed {
  readonly name: string
  readonly displayName: string
  readonly inputSchema: { readonly properties?: Record<string, unknown> }
}

/** Tools that change something, or run programs: somebody is asked before. */
const ASKED_FOR: Record<string, (input: object) => string> = {
  winnow_bash: (input) => `Run \`${(input as { command?: string }).command}\`?`,
  winnow_index: (input) => `Run this index action: ${(input as { action?: string }).action}?`,
}

/** Offers the server's tools to agents in the editor. */
export function registerTools(
  extension: vscode.Extension<unknown>,
  server: Server,
): vscode.Disposable[] {
  const { contributes } = extension.packageJSON as {
    contributes: { languageModelTools: Contributed[] }
  }
  return contributes.languageModelTools.map((tool) =>
    vscode.lm.registerTool(tool.name, new Tool(tool, server)),
  )
}

class Tool implements vscode.LanguageModelTool<object> {
  constructor(
    private readonly tool: Contributed,
    private readonly server: Server,
  ) {}

  prepareInvocation(
    options: vscode.LanguageModelToolInvocationPrepareOptions<object>,
  ): vscode.PreparedToolInvocation {
    const message = ASKED_FOR[this.tool.name]?.(options.input)
    return {
      invocationMessage: `Winnow: ${this.tool.displayName}`,
      ...(message ? { confirmationMessages: { title: this.tool.displayName, message } } : {}),
    }
  }

  async invoke(
    options: vscode.LanguageModelToolInvocationOptions<object>,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelToolResult> {
    const params = {
      name: this.tool.name.replace(/^winnow_/, ''),
      arguments: { ...this.defaults(options), ...options.input },
    }
    const { text } = await this.server.ask(callTool, params, token)
    return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)])
  }

  /** What the editor knows and a model need not say: its excludes, and how much room there is. */
  private defaults(options: vscode.LanguageModelToolInvocationOptions<object>): object {
    const known = this.tool.inputSchema.properties ?? {}
    const budget = options.tokenizationOptions?.tokenBudget
    return {
      ...('exclude' in known ? { exclude: editorExcludes() } : {}),
      ...('max_tokens' in known && budget ? { max_tokens: Math.floor(budget) } : {}),
    }
  }
}

/** Offers `winnow mcp` to whatever in the editor speaks MCP, if this server has it. */
export function registerMcp(
  context: vscode.ExtensionContext,
  secrets: Secrets,
): vscode.Disposable | undefined {
  if (typeof vscode.lm.registerMcpServerDefinitionProvider !== 'function') return undefined
  return vscode.lm.registerMcpServerDefinitionProvider('winnow', {
    provideMcpServerDefinitions: async () => {
      try {
        const { command, args, version } = await locate(context)
        const help = await output(command, [...args, '--help'])
        if (!/^ {2,}mcp\b/m.test(help)) return []
        const definition = new vscode.McpStdioServerDefinition(
          'Winnow',
          command,
          // Models read the text; the same as data would cost as much again.
          [...args, 'mcp', '--text-only'],
          {},
          version,
        )
        const folder = vscode.workspace.workspaceFolders?.[0]
        if (folder) definition.cwd = folder.uri
        return [definition]
      } catch (error) {
        log.info(`Not offering the MCP server: ${messageOf(error)}`)
        return []
      }
    },
    resolveMcpServerDefinition: async (definition) => {
      if (definition instanceof vscode.McpStdioServerDefinition) {
        const all = Object.entries(programEnvironment(await secrets.keys()))
        definition.env = Object.fromEntries(all.map(([name, value]) => [name, value ?? null]))
      }
      return definition
    },
  })
}
