-- Show the state of the index, and run actions on it.

local client = require('winnow.client')
local message = require('winnow.message')

local M = {}

---@param ... any
local function line(...)
  return string.format(...)
end

---@param folder table
---@return string[]
local function folder_lines(folder)
  local lines = {
    line('%s: %s', folder.folder, folder.state),
    line('  %d of %d files', folder.files_indexed, folder.files_total),
  }
  for reason, count in vim.spairs(folder.not_covered or {}) do
    lines[#lines + 1] = line('  not indexed: %d %s', count, (reason:gsub('_', ' ')))
  end
  for _, failed in ipairs(folder.failed_files or {}) do
    lines[#lines + 1] = line('    failed: %s', failed)
  end
  if folder.bytes_on_disk then
    local where = folder.store and vim.fs.dirname(folder.store) or 'memory'
    lines[#lines + 1] = line('  %.1f MB in %s', folder.bytes_on_disk / 1e6, where)
  end
  if (folder.updated_at or 0) > 0 then
    local when = os.date('%Y-%m-%d %H:%M:%S', math.floor(folder.updated_at))
    lines[#lines + 1] = line('  last updated at %s', when)
  end
  for _, name in ipairs({ 'problem', 'last_error' }) do
    if folder[name] then
      lines[#lines + 1] = line('  %s: %s', (name:gsub('_', ' ')), tostring(folder[name]))
    end
  end
  return lines
end

---Return the answer of `$/indexStatus` as lines of text.
---@param answer table
---@return string[]
function M.lines(answer)
  local lines = {}
  for _, folder in ipairs(answer.index.folders) do
    vim.list_extend(lines, folder_lines(folder))
  end
  local index = answer.index
  if index.waits_for then
    lines[#lines + 1] = line('background work is waiting: %s', index.waits_for)
  end
  if index.memory_mb then
    lines[#lines + 1] = line('%.0f MB of memory, including the server', index.memory_mb)
  end
  return vim.list_extend(lines, answer.warnings)
end

---Show the state of the index, and the server's version and command.
function M.show()
  local folder = client.root(0)
  client.with_client(folder, function(running, problem)
    if not running then
      return message.fail(problem --[[@as string]])
    end
    client.request(running, '$/indexStatus', {}, {
      progress = false,
      done = function(answer, failed)
        if not answer then
          return message.fail(failed --[[@as string]])
        end
        local info = running.server_info or {}
        local lines =
          { line('winnow %s, %s', info.version or '?', client.command_line(running.config.cmd)) }
        vim.list_extend(lines, M.lines(answer))
        message.page('status', lines)
      end,
    })
  end)
end

local ACTIONS = { build = true, pause = true, resume = true, clear = true }

---Run an action on the index and notify the user of the result. Raise an error for an unknown
---action.
---@param action? string
function M.index(action)
  if not action or action == 'status' then
    return M.show()
  end
  if not ACTIONS[action] and action ~= 'refresh' then
    error(
      ('winnow: unknown action `%s`; use build, pause, resume, clear, refresh or status'):format(
        action
      ),
      0
    )
  end
  local method = action == 'refresh' and '$/refresh' or '$/index'
  local params = action == 'refresh' and vim.empty_dict() or { action = action }
  client.call(client.root(0), method, params, function(answer, problem)
    if not answer then
      return message.fail(problem --[[@as string]])
    end
    local state = answer.done and 'done' or 'continues in the background'
    local progress = line('%d of %d files indexed', answer.returned, answer.total_found)
    local parts = { line('index %s: %s (%s)', action, state, progress) }
    message.show(table.concat(vim.list_extend(parts, answer.warnings), ' · '))
  end)
end

return M
