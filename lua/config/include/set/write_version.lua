-- write_version(ctx, name, record, version, new): store a new version of a name, and put the one before into its history. record: as
-- read_record gives it. new: the value, or false to remove the name.
local function write_version(ctx, name, record, version, new)
  local size = record.version and keep_version(name, record) or 0
  redis.call('HSET', value .. name, 'version', version, 'at_ms', ctx.now_text, 'actor', actor, 'reason', reason, 'size',
    string.format('%.0f', size), new and 'value' or 'removed', new or '1')
  redis.call('ZADD', changed, version, name)
  if new then
    if record.removed then
      redis.call('HDEL', value .. name, 'removed')
      redis.call('ZREM', removed, name)
    end
  else
    redis.call('HDEL', value .. name, 'value')
    redis.call('ZADD', removed, ctx.now_text, name)
  end
  emit(ctx, new and 'config.set' or 'config.removed', name, 'version=' .. version .. (actor ~= '' and ' by=' .. actor or ''))
end
