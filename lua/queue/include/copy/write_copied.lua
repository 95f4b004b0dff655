-- write_copied(): write the keys of this call, by commands of their types. A call that is sent again writes the same.
local function write_copied()
  local last = 0
  for i = 1, key_count do
    local key, kind, at, first = string.sub(config, 1, -7) .. key_name[i], key_type[i], key_at[i], last + 1
    last = last + key_entries[i]
    if at == 0 then redis.call('UNLINK', key) end
    if at == 0 or redis.call('TYPE', key).ok == kind then
      if kind == 'stream' and first <= last then
        write_stream(key, at, first, last)
      elseif first <= last then
        if kind == 'list' and at > 0 then redis.call('LTRIM', key, 0, at - 1) end
        write_entries(key, kind, first, last)
      end
      if key_expires_ms[i] > 0 then redis.call('PEXPIREAT', key, key_expires_ms[i]) end
    end
  end
end
