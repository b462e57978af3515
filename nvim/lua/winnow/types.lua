---@meta

-- Types shared by modules. Types of the server's answers declare only the fields the plugin reads;
-- docs/tools in the repository documents all fields.

---@alias winnow.Mode 'code'|'files'|'grep'|'symbols'|'semantic'|'keyword'|'docs'
---@alias winnow.ListKind 'quickfix'|'loclist'
---@alias winnow.PickerName 'builtin'|'telescope'|'fzf_lua'|'snacks'

---A result: a place in a file, with its line and reason.
---@class winnow.Item: winnow.Draft
---@field file string absolute path, or the name of a buffer with a text from the server
---@field text string the line, or the most relevant part of it; may be empty
---@field reason string why it was found; empty if the line is the reason
---@field matches winnow.Range[] the ranges to highlight
---@field rank? integer the position in the answer, from 1
---@field key string identifies the place across answers

---The fields of an item that come from the answer.
---@class winnow.Draft
---@field path string the path in the answer, relative to the root; it follows that of a repository
---@field repository? string the repository of a file in the search cluster
---@field root? string the root of `path`, if it differs from the answer's
---@field file? string
---@field lnum integer from 1
---@field col? integer from 1, in code points; nil for the first character that is not blank
---@field text? string
---@field text_column? integer the column of the first character of `text`, if the line was cut
---@field line_patterns? string[] Lua patterns that find the line after a change, the best first
---@field reason? string
---@field is_signature? boolean true if `text` is a signature instead of the line
---@field is_file? boolean true for a file without a line
---@field place? string the location in a document ("page 3")
---@field matches? winnow.Range[]
---@field open_uri? string the URI of the original document
---@field key? string if it doesn't consist of path, line and column

---Columns are 1-based and count code points; `last` is exclusive.
---@class winnow.Range
---@field lnum integer
---@field first integer
---@field last integer
---@field end_lnum? integer the line of `last`, if it differs from `lnum`

---A file that was sent to a model but not chosen.
---@class winnow.NotChosen
---@field path string
---@field root? string
---@field uri? string
---@field line? integer
---@field preview_uri? string

---Fields of every answer, in addition to its results.
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
---@field fallback? { from: string, to: string, reason: string, partly?: boolean }
---@field search_type_used? string
---@field reason? string
---@field engine? string
---@field pending? integer
---@field failed? { path: string, reason: string, member?: string }[]
---@field suggestions? string[]
---@field unknown_words? string[] of a question, in no text
---@field total_matches? integer

---@class winnow.Completeness
---@field complete boolean
---@field reasons string[]
---@field skipped table<string, integer>
---@field timed_out boolean
---@field index? winnow.IndexState

---@class winnow.IndexState
---@field state string
---@field files_indexed integer
---@field files_total integer
---@field texts_indexed? integer set if there are more texts than files: their definitions follow
---@field waits_for? string why indexing waits or is slow now

---@class winnow.RankedBy
---@field kind 'llm'|'local'
---@field model? string
---@field provider? string
---@field fallback_reason? string
---@field needs_consent? string[] destinations of models that could rank if the user consented

---@alias winnow.ConsentAction 'give'|'refuse'|'withdraw'

---The user's consent, by destination.
---@class winnow.Consent
---@field destinations winnow.Destination[]
---@field workspace string[] the folders it applies to
---@field warnings string[]

---@class winnow.Destination
---@field destination string scheme, host and port
---@field models string[] the models there that are completely configured
---@field state 'needed'|'given'|'refused'|'always'

---The requests to language models.
---@class winnow.Audit
---@field requests winnow.AuditedRequest[] the latest first
---@field today winnow.DailyUsage
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

---@class winnow.DailyUsage
---@field requests integer
---@field tokens integer
---@field cost_usd number
---@field daily_tokens? integer
---@field daily_usd? number

---A search request: the params of the server's request, and where to show the results.
---@class winnow.Request
---@field query? string
---@field terms? string[] terms of a keyword search; by default the words of the question
---@field params? table<string, any> other params, with the server's names
---@field files? integer number of files that `include` lists, if it lists those of earlier results
---@field list? winnow.ListKind show the results in a list instead of the picker
---@field picker? winnow.PickerName
---@field win? integer the window of a location list

---@class winnow.CompleteRequest
---@field system string
---@field prompt string
---@field max_tokens integer

---Calls a model, then calls `done` once, with the text and the model's name or with nil and an
---error. May return a function that cancels the call.
---@alias winnow.Completed fun(text?: string, model_or_error?: string)
---@alias winnow.Complete fun(request: winnow.CompleteRequest, done: winnow.Completed): (fun()|nil)
