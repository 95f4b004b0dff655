-- remove_change(ctx, id): delete an ended change with all that belongs to it. It is kept while a task of it is in the outbox. Returns how
-- many are deleted.
local function remove_change(ctx, id)
  if tonumber(redis.call('HGET', change .. id, 'undelivered') or 0) > 0 then
    redis.call('ZADD', ended, ctx.now_text, id)
    return 0
  end
  local own = read_change(id, true)
  for _, one in ipairs(slots_of(own)) do drop_request(own, one) end  -- at most 32: slots
  reindex(own, by_resource, text_of(own, 'resources'), '')
  reindex(own, by_tag, text_of(own, 'tags'), '')
  reindex(own, by_team, text_of(own, 'team'), '')
  redis.call('ZREM', by_author .. text_of(own, 'author'), id)
  redis.call('ZREM', states .. own.state, id)
  redis.call('ZREM', ended, id)
  redis.call('UNLINK', change .. id, params .. id, revisions .. id, previews .. id, outputs .. id, contributors .. id, logs .. id)
  emit(ctx, 'change.removed', id, '')
  return 1
end
