-- write_content(ctx, own, names, digest): store the content of this call as a new revision.
local function write_content(ctx, own, names, digest)
  reindex(own, by_resource, text_of(own, 'resources'), names)
  set_field(own, 'rev', own.rev + 1)
  set_field(own, 'digest', digest)
  set_field(own, 'type', change_type)
  set_field(own, 'version', version)
  set_field(own, 'description', description)
  set_field(own, 'resources', names)
  set_field(own, 'rollback_strategy', rollback_strategy)
  set_field(own, 'timeout_ms', timeout_ms)
  set_field(own, 'priority', priority)
  redis.call('SET', params .. own.id, parameters)
end
