---@meta

-- What the annotations of Neovim 0.11 leave out, of what the plugin uses. For language servers and
-- the check only: nothing loads it.

-- A table that can be called.
---@class IterMod
---@overload fun(source: table|function, ...: any): Iter

-- Declared as a function first, which has no fields.
---@type vim.lsp.config
vim.lsp.config = ...

-- Those of luv come with Neovim 0.12.
---@class uv
---@field cwd fun(): string?, string?
---@field fs_stat fun(path: string): uv.fs_stat.result?, string?
---@field new_timer fun(): uv.uv_timer_t?, string?
---@field now fun(): integer

---@class uv.fs_stat.result
---@field type string
---@field size integer

---@class uv.uv_timer_t
---@field start fun(self: uv.uv_timer_t, timeout: integer, again: integer, callback: fun())
---@field stop fun(self: uv.uv_timer_t)
---@field close fun(self: uv.uv_timer_t)
