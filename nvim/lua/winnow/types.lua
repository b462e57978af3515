---@meta

-- What goes from one module to another. What the server answers is in its own reference
-- (docs/tools in the project); here stand only the fields that are read.

---@alias winnow.Mode 'keyword'|'docs'|'symbols'|'grep'|'semantic'|'code'
---@alias winnow.ListKind 'quickfix'|'loclist'
---@alias winnow.PickerName 'builtin'|'telescope'|'fzf_lua'|'snacks'

---A result: a place in a file, with what is said of it.
---@class winnow.Item: winnow.Draft
---@field file string absolute path, or the URI of a document's text
---@field text string the line, or the part of it that says most; may be empty
---@field reason string why it was found; empty if the line says it
---@field matches winnow.Range[] what to highlight
---@field rank? integer its place in the answer, from 1
---@field key string the same for the same place in two answers

---What an answer says of a result, from which the item is made.
---@class winnow.Draft
---@field path string the file as it was answered, relative to the root
---@field root? string the folder that `path` is relative to, if not that of the answer
---@field file? string
---@field lnum integer from 1
---@field col? integer from 1, in code points; nil for the first character that is not blank
---@field text? string
---@field text_column? integer the column of the first character of `text`, if the line was cut
---@field reason? string
---@field place? string of a document: where the line stands ("page 3")
---@field matches? winnow.Range[]
---@field open_uri? string of a document: the document itself
---@field key? string if it is not that of the place

---Columns are 1-based and count code points; `last` is exclusive.
---@class winnow.Range
---@field lnum integer
---@field first integer
---@field last integer
---@field end_lnum? integer the line in which `last` is, if not `lnum`

---A file that a model was sent and did not choose.
---@class winnow.NotChosen
---@field path string
---@field root? string
---@field uri? string
---@field line? integer
---@field preview_uri? string

---What every answer has, beside its results.
---@class winnow.Answer
---@field root string
---@field search_id? string
---@field total_found integer
---@field returned integer
---@field truncated boolean
---@field total_is_lower_bound? boolean
---@field completeness winnow.Completeness
---@field warnings string[]
---@field ranked_by? winnow.RankedBy
---@field not_chosen? winnow.NotChosen[]
---@field usage? { input_tokens: integer, output_tokens: integer, cost_usd?: number }
---@field redactions? table<string, integer>
---@field terms? { term: string, status: string, detail?: string }[]
---@field fallback? { from: string, to: string, reason: string }
---@field search_type_used? string
---@field reason? string
---@field engine? string
---@field pending? integer
---@field failed? { path: string, reason: string, member?: string }[]
---@field suggestions? string[]
---@field total_matches? integer

---@class winnow.Completeness
---@field complete boolean
---@field reasons string[]
---@field skipped table<string, integer>
---@field timed_out boolean
---@field index? { state: string, files_indexed: integer, files_total: integer }

---@class winnow.RankedBy
---@field kind 'llm'|'local'
---@field model? string
---@field provider? string
---@field fallback_reason? string
---@field needs_consent? string[] where a model could be asked if somebody consented

---@alias winnow.ConsentAction 'give'|'refuse'|'withdraw'

---What may be sent where.
---@class winnow.Consent
---@field destinations winnow.Destination[]
---@field workspace string[] the folders that it is decided for
---@field warnings string[]

---@class winnow.Destination
---@field destination string scheme, host and port
---@field models string[] those there that have all they need
---@field state 'needed'|'given'|'refused'|'always'

---Show what left this machine.
---@class winnow.Audit
---@field requests winnow.AuditedRequest[] the last one first
---@field today winnow.DaysUse
---@field log? string the folder of the log
---@field total_found integer
---@field returned integer
---@field truncated boolean
---@field warnings string[]

---@class winnow.AuditedRequest
---@field time string
---@field model string
---@field answered_by? string
---@field destination string
---@field remote boolean
---@field files string[]
---@field bytes integer
---@field redactions table<string, integer>
---@field outcome? 'answered'|'broken_off'|'failed'
---@field tokens integer
---@field input_tokens? integer
---@field cost_usd? number

---@class winnow.DaysUse
---@field requests integer
---@field tokens integer
---@field cost_usd number
---@field daily_tokens? integer
---@field daily_usd? number

---What is searched for: the params of the server's request, and where the results go.
---@class winnow.Request
---@field query? string
---@field terms? string[] of a keyword search; else the server takes the question's words
---@field params? table<string, any> further params, by the server's names
---@field list? winnow.ListKind a list in the place of the picker
---@field picker? winnow.PickerName
---@field win? integer the window that a location list is for

---@class winnow.CompleteRequest
---@field system string
---@field prompt string
---@field max_tokens integer

---Has a model answer; calls `done` once, with the text and the model's name, or nil and an error.
---May give a function that stops it.
---@alias winnow.Completed fun(text?: string, model_or_error?: string)
---@alias winnow.Complete fun(request: winnow.CompleteRequest, done: winnow.Completed): (fun()|nil)
