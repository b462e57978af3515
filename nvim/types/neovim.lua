---@meta

-- Annotations that Neovim 0.11 lacks and the plugin needs. Only language servers and the type check
-- read this file.

-- A callable table.
---@class IterMod
---@overload fun(source: table|function, ...: any): Iter

-- Neovim declares it first as a function, which has no fields.
---@type vim.lsp.config
vim.lsp.config = ...

-- Neovim 0.12 includes the annotations of luv.
---@class uv
---@field cwd fun(): string?, string?
---@field fs_stat fun(path: string): uv.fs_stat.result?, string?
---@field new_timer fun(): uv.uv_timer_t?, string?
---@field now fun(): integer

---@class uv.fs_stat.result
---@field type string
---@field size integer
---@field mtime { sec: integer, nsec: integer }

---@class uv.uv_timer_t
---@field start fun(self: uv.uv_timer_t, timeout: integer, again: integer, callback: fun())
---@field stop fun(self: uv.uv_timer_t)
---@field close fun(self: uv.uv_timer_t)
