-- matches(ctx, own, list): which of these delegations of a person are for the type, the tags and the resources of a change: their places in the
-- list → true.
local function matches(ctx, own, list)
  local types = list[1] and matching_with(ctx, list, 'types', text_of(own, 'type'))
  local tags = types and matching_with(ctx, list, 'tags', text_of(own, 'tags'))
  local resources, all = tags and matching_with(ctx, list, 'resources', text_of(own, 'resources')), {}
  for at in pairs(resources or {}) do all[at] = types[at] and tags[at] end  -- at most 16: delegations of a person
  return all
end
