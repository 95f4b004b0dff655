-- note_progress(ctx, id, own): write how far a running task has come. False if its record is gone. If only a log line
-- is given, no event is written.
local function note_progress(ctx, id, own)
  if redis.call('HEXISTS', task .. id, 'created_ms') == 0 then return false end
  local fields = { 'progress_ms', ctx.now_text }
  for name, value in pairs({ progress_ppm = own.ppm, progress_text = own.text, output = own.output }) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  redis.call('HSET', task .. id, unpack(fields))  -- at most 8: the fields above
  if own.line then
    redis.call('RPUSH', log .. id, ctx.now_text .. ' ' .. own.line)
    redis.call('LTRIM', log .. id, -100, -1)
  end
  if own.ppm or own.text then emit(ctx, 'task.progress', id, own.ppm and 'ppm=' .. own.ppm or '') end
  return true
end
