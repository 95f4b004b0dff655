-- emit_group(ctx, event, name, detail): add an event about a group to the stream, if there is one; returns its id, or false. The next
-- event of the noun trims the stream to the bound of memory.
local function emit_group(ctx, event, name, detail)
  local entry = { 'event', event, 'timestamp', ctx.now_text, 'id', name }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  return redis.call('XADD', events, 'NOMKSTREAM', '*', unpack(entry))  -- at most 8: fields of an event
end
