-- check_resources(names): sort resources by their bytes; or return an error if one has no type, or is named twice.
local function check_resources(names)
  table.sort(names, bytes_before)
  for i, name in ipairs(names) do
    if not string.find(name, '^[%w%._@%+%-]+:.') then
      return refuse('resources', name, '<type>:<id>, such as database:orders; the type is a name')
    end
    if name == names[i - 1] then return refuse('resources', name, 'each resource once') end
  end
end
