/**
 * The server's requests, each declared once with its params, result and partial results.
 *
 * Results declare only the fields this client reads; docs/tools documents all fields. Lines and
 * columns are 1-based, columns count code points, and a range's end is exclusive.
 */

/** A request to the server: its method name, and its types at compile time only. */
export interface ServerRequest<P, R, Partial = never> {
  readonly method: string
  readonly types?: { params: P; result: R; partial: Partial }
}

const request = <P, R, Partial = never>(method: string): ServerRequest<P, R, Partial> => ({ method })

export interface IndexedFiles {
  files_indexed: number
  files_total: number
  /** Set if there are more texts than `files_indexed`: their definitions follow. */
  texts_indexed?: number
}

export interface IndexState extends IndexedFiles {
  state: 'none' | 'opening' | 'building' | 'ready' | 'stale'
  /** Why indexing waits or is slow now. */
  waits_for?: string
}

export interface Completeness {
  complete: boolean
  reasons: string[]
  skipped: Record<string, number>
  timed_out: boolean
  index?: IndexState
}

/** Fields of every answer, in addition to its results. */
export interface Answer {
  root: string
  total_found: number
  returned: number
  truncated: boolean
  completeness: Completeness
  warnings: string[]
}

export interface SearchAnswer extends Answer {
  search_id: string
}

/**
 * The location of a hit. `root` is set only with several folders, `uri` only if the path is not
 * Unicode. The path of a hit in the search cluster is relative to its `repository`.
 */
export interface Located {
  path: string
  root?: string
  uri?: string
  repository?: string
  commit?: string
}

export interface ScopeParams {
  exclude?: string[]
  include?: string[]
  path?: string
  file_types?: string[]
  include_ignored?: boolean
  include_hidden?: boolean
  /** By default, those of the user's settings. */
  repositories?: string[]
}

// --- keyword search ------------------------------------------------------------------------

export interface KeywordSearchParams extends ScopeParams {
  query: string
  search_terms: string[]
  broad_terms?: 'skip' | 'shrink'
  ranker?: 'auto' | 'local'
  model?: string
  include_documents?: boolean
}

export interface Match {
  line: number
  column: number
  text: string
  match_range: [number, number]
  page?: number
  slide?: number
  sheet?: string
  section?: string
  member?: string
}

export interface RankedFile extends Located {
  reason: string
  terms: string[]
  matches: Match[]
  line?: number
  by?: 'index'
  line_text?: string
  passage?: { start_line: number; end_line: number; symbol?: string; snippet?: string }
  format?: string
  preview_uri?: string
  total_matches?: number
}

export interface RankedBy {
  kind: 'llm' | 'local'
  model?: string
  provider?: string
  fallback_reason?: string
  needs_consent?: string[]
}

export interface TermReport {
  term: string
  status: 'used' | 'shrunk' | 'too_broad' | 'peeled' | 'no_match' | 'invalid' | 'timed_out'
  files?: number
  matches?: number
  detail?: string
}

export interface Usage {
  input_tokens: number
  output_tokens: number
  cost_usd?: number
}

/** A file that was sent to the model but not chosen. */
export interface NotChosen extends Located {
  line?: number
  preview_uri?: string
}

export interface KeywordSearchResult extends SearchAnswer {
  files: RankedFile[]
  not_chosen?: NotChosen[]
  no_relevant_files: boolean
  ranked_by: RankedBy
  terms: TermReport[]
  usage?: Usage
  redactions?: Record<string, number>
}

/** A partial result. From the local ranker, it replaces earlier ones; from a model, it adds files. */
export interface KeywordSearchPartial {
  files: RankedFile[]
  ranked_by: RankedBy
}

export const keywordSearch = request<KeywordSearchParams, KeywordSearchResult, KeywordSearchPartial>(
  '$/keywordSearch',
)
/** Suggest search terms for a question without terms. */
export const suggestTerms = request<{ query: string }, { terms: string[] }>('$/suggestTerms')

// --- text ----------------------------------------------------------------------------------

export interface GrepParams extends ScopeParams {
  pattern: string
  literal?: boolean
  case_sensitive?: boolean
  context_lines?: number
  max_results?: number
}

export interface GrepMatch extends Located {
  line: number
  column: number
  match_range: [number, number]
  end_line?: number
  preview: { line: number; text: string; match?: boolean; text_column?: number }[]
}

export interface GrepResult extends SearchAnswer {
  matches: GrepMatch[]
  total_is_lower_bound?: boolean
}

export const grep = request<GrepParams, GrepResult, { matches: GrepMatch[] }>('$/grep')

// --- symbols -------------------------------------------------------------------------------

export interface FoundSymbol extends Located {
  name: string
  qualified_name: string
  kind: string
  line: number
  column: number
  signature?: string
  doc?: string
  place?: string
}

export interface FindSymbolResult extends SearchAnswer {
  symbols: FoundSymbol[]
  total_is_lower_bound?: boolean
}

export const findSymbol = request<
  { name: string; max_results?: number } & ScopeParams,
  FindSymbolResult,
  { symbols: FoundSymbol[] }
>('$/findSymbol')

// --- code search --------------------------------------------------------------

/** The answer of a search that may have fallen back to another search. */
export type SearchType = 'file' | 'symbol' | 'text' | 'semantic'

export interface FallbackAnswer extends SearchAnswer {
  total_is_lower_bound?: boolean
  fallback?: { from: SearchType; to: SearchType; reason: string; partly?: boolean }
  index_offer?: { text: string }
  suggestions?: string[]
  /** The words of a question that are in no text, if they are many. */
  unknown_words?: string[]
}

export interface CodeHit extends Located {
  line?: number
  end_line?: number
  best_line?: number
  snippet?: string
  snippet_line?: number
  kind: 'definition' | 'file' | 'match' | 'passage'
  symbol?: string
  matches?: number
  why?: string
}

export interface CodeSearchResult extends FallbackAnswer {
  results: CodeHit[]
  search_type_used: SearchType
  reason: string
  ranked_by: RankedBy
  not_chosen?: NotChosen[]
  usage?: Usage
  redactions?: Record<string, number>
}

export interface CodeSearchPartial {
  results: CodeHit[]
  ranked_by: RankedBy
}

export const codeSearch = request<
  { query: string; limit?: number; ranker?: 'auto' | 'local'; model?: string } & ScopeParams,
  CodeSearchResult,
  CodeSearchPartial
>('$/codeSearch')

/** List files: those that differ from git's HEAD. */
export const changedFiles = request<
  { pattern: string; scope: 'changed'; max_results: number },
  Answer & { files: Located[] }
>('$/glob')

// --- files of the search cluster -----------------------------------------------------------

export interface FileContent extends Answer {
  path: string
  /** Absent for a file of the workspace. */
  repository?: string
  chunks: { content: string }[]
  cursor?: string
}

export const readFile = request<
  { path: string; repository: string; commit: string; max_lines: number; cursor?: string },
  FileContent
>('$/readFile')

// --- documents -----------------------------------------------------------------------------

export interface DocumentMatch extends Match {
  preview_uri: string
  open_uri: string
  cell?: string
  paragraph?: number
}

export interface DocumentMatches extends Located {
  format: string
  matches: DocumentMatch[]
  total: number
}

export interface SearchDocsResult extends SearchAnswer {
  documents: DocumentMatches[]
  failed: { path: string; reason: string; member?: string }[]
  engine: string
  statistics: { files: number; matches: number; seconds: number }
  pending?: number
}

export const searchDocs = request<
  { query: string; literal?: boolean } & ScopeParams,
  SearchDocsResult,
  { documents: DocumentMatches[] }
>('$/searchDocs')

export interface DocumentText extends Answer {
  text: string
  total_lines: number
  failed?: string[]
  cursor?: string
}

export const documentText = request<{ path: string; cursor?: string }, DocumentText>(
  '$/documentText',
)

// --- index and feedback --------------------------------------------------------------------

export interface FolderStatus extends IndexedFiles {
  folder: string
  state: 'building' | 'none' | 'opening' | 'paused' | 'ready' | 'stale'
  problem?: string
}

export interface IndexStatusResult extends Answer {
  index: {
    folders: FolderStatus[]
    paused?: boolean
    waits_for?: string
    memory_mb?: number
  }
}

export const indexStatus = request<Record<string, never>, IndexStatusResult>('$/indexStatus')
export const changeIndex = request<
  { action: 'build' | 'pause' | 'resume' | 'clear' },
  Answer & { done: boolean }
>('$/index')
export const refresh = request<{ wait?: boolean }, Answer>('$/refresh')
export const feedback = request<
  { search_id: string; path: string; action: 'opened' | 'dismissed'; rank?: number },
  Answer
>('$/feedback')

// --- consent and audit ---------------------------------------------------------------------

export interface Destination {
  destination: string
  state: 'always' | 'given' | 'needed' | 'refused'
}

export const consent = request<
  { action?: 'give' | 'refuse' | 'withdraw'; destinations?: string[] },
  Answer & { destinations: Destination[]; models: string[] }
>('$/consent')

export interface AuditedRequest {
  time: string
  model: string
  destination: string
  remote: boolean
  files: string[]
  bytes: number
  redactions: Record<string, number>
  outcome?: string
  tokens: number
}

export interface AuditResult extends Answer {
  requests: AuditedRequest[]
  today: { requests: number; tokens: number; cost_usd: number; daily_tokens?: number }
  log?: string
}

export const audit = request<{ limit: number }, AuditResult>('$/audit')

/** Call a tool and return its answer as text for agents. `short` is for the four tools offered by default. */
export const callTool = request<
  { name: string; arguments: object; short: boolean },
  { text: string }
>('$/callTool')

// --- request from the server to this client ------------------------------------------------

export interface CompleteParams {
  system: string
  prompt: string
  max_tokens: number
}

export const complete = request<CompleteParams, { text: string; model: string }>('$/complete')
