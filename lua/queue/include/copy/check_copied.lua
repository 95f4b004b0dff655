-- check_copied(): nil if the keys and entries of this call can be written, else the error to return.
local function check_copied()
  local last, seen = 0, { config = true, copied = true }
  for i = 1, key_count do
    local name, kind, count = key_name[i], key_type[i], key_entries[i]
    if seen[name] then return refuse('key[' .. i .. '].name', name, 'given once, and not config or copied') end
    seen[name] = true
    if (kind == 'none' and count > 0) or (kind == 'string' and (count > 1 or key_at[i] > 0)) then
      return refuse('key[' .. i .. '].entries', count, 'what a key of this type can have')
    end
    local first = last + 1
    last = last + count
    if last > entry_count then break end
    if kind == 'stream' then
      local refused = check_stream(first, last)
      if refused then return refused end
    elseif kind == 'zset' then
      for j = first, last do
        local score = entry_value[j]
        if not (string.find(score, '^%-?%d+%.?%d*$') or string.find(score, '^%-?%d+%.?%d*e[+-]?%d%d?$')) then
          return refuse('entry[' .. j .. '].value', score, 'a score: a decimal number')
        end
      end
    end
  end
  if last ~= entry_count then return refuse('entry_count', entry_count, 'the sum of the entries of all keys') end
end
