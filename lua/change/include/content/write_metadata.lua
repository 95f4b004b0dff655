-- write_metadata(own, tag_list): store the metadata of this call. What a tag has forbidden stays forbidden until the next submit. Returns
-- whether it was different.
local function write_metadata(own, tag_list)
  local row = redis.call('HMGET', change .. own.id, 'author_name', 'ticket_ref')
  if row[1] == author_name and row[2] == ticket_ref and text_of(own, 'team') == team and text_of(own, 'tags') == tag_list then return false end
  if own.state ~= 'draft' and has_denied_tag(own) then set_field(own, 'denied', '1') end
  if text_of(own, 'team') ~= team then reindex(own, by_team, text_of(own, 'team'), team) end
  reindex(own, by_tag, text_of(own, 'tags'), tag_list)
  set_field(own, 'author_name', author_name)
  set_field(own, 'ticket_ref', ticket_ref)
  set_field(own, 'team', team)
  set_field(own, 'tags', tag_list)
  return true
end
