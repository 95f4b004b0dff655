-- create_change(ctx, person, names, tag_list, digest): a new draft with the content and the metadata of this call.
local function create_change(ctx, person, names, tag_list, digest)
  local own = read_change(id, true)
  own.resources, own.team, own.tags, own.p_follows = '', '', '', ''
  set_field(own, 'state', 'draft')
  set_field(own, 'author', actor)
  set_field(own, 'principal', person)
  set_field(own, 'created_ms', ctx.now)
  write_metadata(own, tag_list)
  write_content(ctx, own, names, digest)
  redis.call('ZADD', states .. 'draft', ctx.now_text, id)
  redis.call('ZADD', by_author .. actor, ctx.now_text, id)
  record_step(ctx, own, 'change.created', actor, '', '')
  return own
end
