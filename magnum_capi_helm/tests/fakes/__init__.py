# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Stand-ins for what the driver talks to, backed by dictionaries.

They are what a real management cluster, helm, Cluster API and OpenStack look
like from the driver's side, with the same methods, and can be told to fail.
Tests put them at the border (:mod:`magnum_capi_helm.tests.fakes.plane`) and
never inside the driver.
"""
