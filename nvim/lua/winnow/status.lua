-- How the index is, and what can be done with it, in words.

local answers = require('winnow.answer')
local client = require('winnow.client')

local M = {}

---@param ... any
local function line(...)
  return string.format(...)
end

---@param folder table
---@return string[]
local function of_folder(folder)
  local said = {
    line('%s: %s', folder.folder, folder.state),
    line('  %d of %d files', folder.files_indexed, folder.files_total),
  }
  for reason, count in vim.spairs(folder.not_covered or {}) do
    said[#said + 1] = line('  not indexed: %d %s', count, (reason:gsub('_', ' ')))
  end
  if folder.bytes_on_disk then
    local where = folder.store and vim.fs.dirname(folder.store) or 'memory'
    said[#said + 1] = line('  %.1f MB in %s', folder.bytes_on_disk / 1e6, where)
  end
  if (folder.updated_at or 0) > 0 then
    local when = os.date('%Y-%m-%d %H:%M:%S', math.floor(folder.updated_at))
    said[#said + 1] = line('  last updated at %s', when)
  end
  for _, name in ipairs({ 'problem', 'last_error' }) do
    if folder[name] then
      said[#said + 1] = line('  %s: %s', (name:gsub('_', ' ')), tostring(folder[name]))
    end
  end
  return said
end

---What `$/indexStatus` says, a line each.
---@param answer table
---@return string[]
function M.lines(answer)
  local said = {}
  for _, folder in ipairs(answer.index.folders) do
    vim.list_extend(said, of_folder(folder))
  end
  local index = answer.index
  if index.waits_for then
    said[#said + 1] = line('background work is waiting: %s', index.waits_for)
  end
  if index.memory_mb then
    said[#said + 1] = line('%.0f MB of memory, including the server', index.memory_mb)
  end
  return vim.list_extend(said, answer.warnings)
end

---Show how the index is, and which server says so.
function M.show()
  local folder = client.root(0)
  client.with(folder, function(running, problem)
    if not running then
      return answers.fail(problem --[[@as string]])
    end
    client.request(running, '$/indexStatus', {}, {
      progress = false,
      done = function(answer, failed)
        if not answer then
          return answers.fail(failed --[[@as string]])
        end
        local info = running.server_info or {}
        local said =
          { line('winnow %s, %s', info.version or '?', client.command_line(running.config.cmd)) }
        vim.list_extend(said, M.lines(answer))
        vim.api.nvim_echo({ { table.concat(said, '\n') } }, true, {})
      end,
    })
  end)
end

local ACTIONS = { build = true, pause = true, resume = true, clear = true }

---Have the server do something with the index, and say when it is done. Raises an error for what
---there is not.
---@param action? string
function M.index(action)
  if not action then
    return M.show()
  end
  if not ACTIONS[action] and action ~= 'refresh' then
    error(
      ('winnow: unknown action `%s`; use build, pause, resume, clear or refresh'):format(action),
      0
    )
  end
  local method = action == 'refresh' and '$/refresh' or '$/index'
  local params = action == 'refresh' and vim.empty_dict() or { action = action }
  client.ask(client.root(0), method, params, function(answer, problem)
    if not answer then
      return answers.fail(problem --[[@as string]])
    end
    local state = answer.done and 'done' or 'continues in the background'
    local known = line('%d of %d files indexed', answer.returned, answer.total_found)
    local said = { line('winnow: index %s: %s (%s)', action, state, known) }
    vim.notify(table.concat(vim.list_extend(said, answer.warnings), '\n'))
  end)
end

return M
